/**
 * The mailboxes of this process's actors: an actor handles its messages one at a time.
 *
 * A mailbox is a plain array and a step a plain function, because a cluster message costs about 35 µs, more than the transition itself.
 */
import { Effect } from "effect"
import type { ActorCommits } from "./ActorCommits.ts"
import type { ActorDefinition } from "./ActorDefinition.ts"
import { MailboxFull, OwnerAway } from "./ActorError.ts"
import type { ActorResidency } from "./ActorResidency.ts"
import type { OwnActorsOptions, Surroundings } from "./ActorSurroundings.ts"
import type { CommandRunner } from "./CommandRunner.ts"
import type { Inbox } from "./Inbox.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"
import { type Step, takeStep, withoutBestEffort } from "./takeStep.ts"

/** The parts of the actors' process that a message passes. */
interface Parts {
  readonly commands: CommandRunner
  readonly residency: ActorResidency
  readonly commits: ActorCommits
}

export class ActorMailboxes implements Inbox {
  readonly #options: OwnActorsOptions
  readonly #around: Pick<Surroundings, "clock" | "fork" | "committed" | "carry">
  readonly #commands: CommandRunner
  readonly #residency: ActorResidency
  readonly #commits: ActorCommits

  constructor(
    options: OwnActorsOptions,
    around: Pick<Surroundings, "clock" | "fork" | "committed" | "carry">,
    { commands, residency, commits }: Parts
  ) {
    this.#options = options
    this.#around = around
    this.#commands = commands
    this.#residency = residency
    this.#commits = commits
  }

  deliver(definition: ActorDefinition, id: string, message: Message) {
    if (this.#residency.isOurs(id)) {
      this.#residency.catchUp(id, message.revision)
      return this.enqueue(this.#residency.activate(id, definition), message)
    }
    this.#residency.leaveIfKnown(id)
    if (message.moved !== null) return message.moved()
    this.#around.carry(definition, id, message)
  }

  enqueue(actor: LiveActor, message: Message) {
    if (actor.dropped) return this.redeliver(actor, [message])
    if (actor.mailbox.length >= this.#options.mailboxMax) return message.fail(new MailboxFull({ actorId: actor.id }))
    message.arrivedAt = performance.now()
    actor.mailbox.push(message)
    if (!actor.busy) this.pump(actor)
  }

  /**
   * The limit is a time, not a count, because each message that contends for its key in vain sends all messages behind it around once. A stale message
   * ends here: the state that its sender saw may have been left and come back to since.
   */
  redeliver(actor: LiveActor, messages: ReadonlyArray<Message>): void {
    const { ownerPatienceMs, passOnWithinMs } = this.#options
    const now = performance.now()
    for (const message of messages) {
      if (message.done !== null || message.event === null) continue // the new owner does pending commands itself
      const lookingSince = message.lookingSince ?? now
      if (now - lookingSince > ownerPatienceMs || now - (message.arrivedAt ?? now) > passOnWithinMs) {
        message.die(new OwnerAway({ actorId: actor.id }))
      } else this.deliver(actor.definition, actor.id, { ...message, lookingSince })
    }
  }

  pump(actor: LiveActor) {
    while (!actor.busy && !actor.dropped && actor.mailbox.length > 0) {
      // A frozen process first gets the results it waited for, and only then learns that its actors have another owner.
      if (!this.#residency.isOwn(actor)) return this.#residency.leave(actor)
      const { revision } = actor.mailbox[0]!
      // Its sender read a newer state while this one was on its way here.
      if (revision > actor.revision) return this.#residency.catchUp(actor.id, revision)
      this.#step(actor, actor.mailbox.shift()!)
    }
  }

  #step(actor: LiveActor, message: Message) {
    const now = this.#around.clock.currentTimeMillisUnsafe()
    actor.lastUsedAt = now
    let { pending, deadlines } = actor
    if (message.done !== null) pending = pending.filter((command) => command.key !== message.done)
    if (message.deadline !== null) {
      const { name, at } = message.deadline
      if (deadlines[name]?.at !== at) return
      const { [name]: _fired, ...rest } = deadlines
      deadlines = rest
    }
    let step: Step
    try {
      step = takeStep(actor, message, pending, deadlines, now)
    } catch (defect) {
      this.#around.fork(Effect.logError(`The machine of ${actor.id} failed on ${message.event?.type}`, defect))
      return message.die(defect)
    }
    if ("change" in step) {
      const { commands } = step.verdict
      const change = withoutBestEffort(actor, step.change, commands)
      return this.#commits.commit(actor, message, change, () => {
        const state = actor.state()
        message.succeed(state)
        this.#around.committed(state)
        this.#commands.follow(actor, change.pending, commands, message.span)
      })
    }
    const { verdict, decline, refusal } = step
    const answer = () => {
      decline()
      if (verdict.type === "refused") message.fail(refusal())
      else message.succeed(actor.state())
    }
    const takesKey = verdict.type === "unchanged" && message.idempotency !== null
    const tidies = pending.length !== actor.pending.length || deadlines !== actor.deadlines
    if (takesKey || tidies) this.#commits.commit(actor, message, { pending, deadlines, transition: null }, answer)
    else answer()
  }
}
