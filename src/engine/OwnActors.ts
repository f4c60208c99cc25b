/**
 * The actors of this process: keeps them in memory, and handles their messages one at a time.
 *
 * A mailbox is a plain array and a step a plain function, because a cluster message costs about 35 µs, more than the transition itself. A lost
 * shard is noticed before each message and by a sweep; until then the journal's revision check fences the old owner.
 */
import { Cause, type Clock, Effect, type Fiber, type Tracer } from "effect"
import type { Sharding } from "effect/cluster"
import type { Tracing } from "../platform/trace/Tracing.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import type { Journal } from "../store/Journal.ts"
import type { ActorCommit, ActorInsert, CommitOutcome, PendingCommand } from "../store/JournalRecord.ts"
import type { ActorDefinition, ActorState, AnyEvent } from "./ActorDefinition.ts"
import { ActorNotFound, KeyContended, MailboxFull, OwnerAway, TransitionRefused } from "./ActorError.ts"
import type { CommandRunner } from "./CommandRunner.ts"
import type { DeadlineTimers } from "./DeadlineTimers.ts"
import { LiveActor } from "./LiveActor.ts"
import { type Message, unawaited } from "./Message.ts"
import type { ShardEpochs } from "./ShardEpochs.ts"
import { shardOf } from "./shards.ts"
import { earliest } from "./Transition.ts"
import { type Change, commitOf, type Step, takeStep } from "./takeStep.ts"
import { countTransition } from "./transitionMetrics.ts"

const refusedPauseMaxMs = 300_000
const troublesMax = 1000

export interface OwnActorsOptions {
  readonly mailboxMax: number
  readonly passivateAfterMs: number
  /** How long a message looks for an owner: longer than the actors of a dead process are without one. */
  readonly ownerPatienceMs: number
}

/** Dependencies on the actor host. */
export interface Surroundings {
  readonly journal: Journal["Service"]
  readonly sharding: Sharding.Sharding["Service"]
  readonly epochs: ShardEpochs["Service"]
  readonly clock: Clock.Clock
  readonly timers: DeadlineTimers
  readonly fork: (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown, unknown>
  /** Null without tracing. */
  readonly traced: Tracing | null
  /** Makes the runner of their commands; results arrive as messages. */
  readonly commands: (enqueue: (actor: LiveActor, message: Message) => void) => CommandRunner
  /** Throws for an unregistered kind. */
  readonly definitionOf: (kind: string) => ActorDefinition
  readonly committed: (state: ActorState) => void
  /** Sends a message to the process that owns its actor. */
  readonly carry: (definition: ActorDefinition, id: string, message: Message) => void
}

export class OwnActors {
  readonly #options: OwnActorsOptions
  readonly #around: Surroundings
  readonly #commands: CommandRunner
  readonly #live = new Map<string, LiveActor>()
  /** Commands whose result the database rejected, and how often. */
  readonly #refused = new BoundedMap<string, number>(troublesMax)
  /** Actors that this version cannot load. */
  readonly #unusable = new BoundedMap<string, true>(troublesMax)
  #isClosing = false
  /** Running commits, including those of actors that have left. */
  #writing = 0
  /** Called when no commit is running. */
  #written = () => {}

  constructor(options: OwnActorsOptions, around: Surroundings) {
    this.#options = options
    this.#around = around
    this.#commands = around.commands((actor, message) => this.#enqueue(actor, message))
  }

  // --- actors in memory ---------------------------------------------------------------------------------------------

  get size(): number {
    return this.#live.size
  }

  /** True if no command runs and no message waits. */
  get isQuiet(): boolean {
    return [...this.#live.values()].every((actor) => actor.isIdle)
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  isOurs(id: string): boolean {
    const { sharding } = this.#around
    return !this.#isClosing && sharding.hasShardId(shardOf(sharding, id))
  }

  #isOwn({ shard, epoch }: LiveActor): boolean {
    const { sharding, epochs } = this.#around
    return !this.#isClosing && sharding.hasShardId(shard) && epochs.of(shard) === epoch
  }

  /** A new object outside the live set: to load an actor, or for a process that does not own it. */
  newActor(id: string, definition: ActorDefinition): LiveActor {
    const { sharding, epochs, clock } = this.#around
    const shard = shardOf(sharding, id)
    return new LiveActor(id, definition, shard, epochs.of(shard), clock.currentTimeMillisUnsafe())
  }

  /** The committed state, if this process owns the actor and has it in memory; else null. */
  peek(kind: string, id: string): ActorState | null {
    const actor = this.#live.get(id)
    if (
      actor === undefined ||
      actor.definition.kind !== kind ||
      actor.dropped ||
      actor.revision === 0 ||
      !this.#isOwn(actor)
    )
      return null
    actor.lastUsedAt = this.#around.clock.currentTimeMillisUnsafe()
    return actor.state()
  }

  /** Loads an existing actor that this process owns. */
  activate(id: string, definition: ActorDefinition): LiveActor {
    const known = this.#live.get(id)
    if (known !== undefined && this.#isOwn(known)) return known
    // Another process may have owned it meanwhile.
    const waiting = known === undefined ? [] : known.mailbox.splice(0)
    if (known !== undefined) this.#drop(known)
    const actor = this.newActor(id, definition)
    this.#live.set(id, actor)
    this.#around.fork(
      Effect.matchCause(this.#around.journal.load(id), {
        onFailure: (cause) => {
          this.#drop(actor)
          for (const message of actor.mailbox.splice(0)) message.die(Cause.squash(cause))
        },
        onSuccess: (row) => {
          if (row === null || row.kind !== definition.kind) {
            this.#drop(actor)
            for (const message of actor.mailbox.splice(0)) message.fail(new ActorNotFound({ actorId: id }))
            return
          }
          try {
            actor.become(row)
          } catch (defect) {
            return this.#reject(actor, defect)
          }
          this.#around.committed(actor.state())
          // The span of the wake-up message is the parent of the pending commands.
          const wake = actor.mailbox.find(({ event, span }) => event === null && span !== null)
          this.#settleIn(actor, wake?.span)
        }
      })
    )
    this.#redeliver(actor, waiting)
    return actor
  }

  /** Starts a newly inserted actor; `span` is the parent of its commands. */
  adopt({ row, createdAt, transition }: ActorInsert, span: Tracer.AnySpan | null) {
    const { clock, definitionOf, journal } = this.#around
    countTransition(row.kind, transition.to)
    journal.tellWritten([row.accountId])
    if (this.#live.has(row.id)) return
    const definition = definitionOf(row.kind)
    if (!this.isOurs(row.id)) return this.deliver(definition, row.id, unawaited(null, "wake", { span }))
    // The insert was long ago: a sweep may have woken the actor, and it may have changed and been passivated since.
    if (clock.currentTimeMillisUnsafe() - createdAt >= this.#options.passivateAfterMs) {
      this.activate(row.id, definition)
      return
    }
    const actor = this.newActor(row.id, definition)
    this.#live.set(row.id, actor)
    actor.become(row)
    this.#settleIn(actor, span)
  }

  /** After a load or an insert: restarts the commands, sets the deadline's timer, and opens the mailbox. */
  #settleIn(actor: LiveActor, span: Tracer.AnySpan | null = null) {
    actor.busy = false
    for (const command of actor.pending) this.#begin(actor, command, span)
    this.#setTimer(actor.id, actor.definition.kind, earliest(actor.deadlines))
    this.#pump(actor)
  }

  /** Starts a command. Retries, with back-off, a command whose result the database permanently rejected: the next result may differ. */
  #begin(actor: LiveActor, command: PendingCommand, span: Tracer.AnySpan | null) {
    const refusedTimes = this.#refused.get(`${actor.id} ${command.key}`)
    if (refusedTimes === undefined) return this.#commands.start(actor, command, span)
    const pauseMs = Math.min(1000 * 2 ** refusedTimes, refusedPauseMaxMs)
    this.#around.fork(
      Effect.andThen(
        Effect.sleep(pauseMs),
        Effect.sync(() => {
          if (!actor.dropped && actor.pending.some(({ key }) => key === command.key)) {
            this.#commands.start(actor, command, span)
          }
        })
      )
    )
  }

  #drop(actor: LiveActor) {
    actor.dropped = true
    if (this.#live.get(actor.id) === actor) this.#live.delete(actor.id)
    this.#commands.endAll(actor)
  }

  /** The stored state is unusable for this version: reports that to all waiting senders. Other actors are unaffected. */
  #reject(actor: LiveActor, defect: unknown) {
    if (this.#unusable.get(actor.id) === undefined) {
      this.#unusable.set(actor.id, true)
      this.#around.fork(Effect.logError(`The stored state of ${actor.id} cannot be used`, defect))
    }
    this.#drop(actor)
    for (const message of actor.mailbox.splice(0)) message.die(defect)
  }

  /** The shard moved: sends the waiting messages to the new owner. */
  #leave(actor: LiveActor) {
    const waiting = actor.mailbox.splice(0)
    this.#drop(actor)
    this.#redeliver(actor, waiting)
  }

  /** Reloads an actor whose state in memory is older than the committed one. */
  catchUp(id: string, revision: number) {
    const actor = this.#live.get(id)
    if (actor === undefined || actor.busy || actor.revision >= revision) return
    const waiting = actor.mailbox.splice(0)
    this.#drop(actor)
    this.activate(actor.id, actor.definition)
    this.#redeliver(actor, waiting)
  }

  /** An owned actor has something to do, now or at `dueAt`, according to the database at that revision. */
  expect(id: string, definition: ActorDefinition, revision: number, hasPending: boolean, dueAt: number | null) {
    if (hasPending) this.activate(id, definition)
    const actor = this.#live.get(id)
    if (actor === undefined) this.#setTimer(id, definition.kind, dueAt)
    else if (actor.revision > 0 && actor.revision < revision) this.catchUp(id, revision)
    // An actor that was awake all the time may have a deadline beyond the horizon of its last timer. A loading actor sets its own timer.
    else if (actor.revision > 0) this.#setTimer(id, definition.kind, earliest(actor.deadlines))
  }

  /** Drops actors whose shards moved, and actors that were unused for long. */
  sweep() {
    const now = this.#around.clock.currentTimeMillisUnsafe()
    for (const actor of this.#live.values()) {
      if (!this.#isOwn(actor)) this.#leave(actor)
      else if (actor.isIdle && now - actor.lastUsedAt >= this.#options.passivateAfterMs) this.#drop(actor)
    }
  }

  /** Stops: sends waiting messages to the next owners. From now on this process owns no actor. */
  close() {
    this.#isClosing = true
    for (const actor of [...this.#live.values()]) this.#leave(actor)
  }

  /** Calls back once no commit is running, perhaps immediately. */
  onceWritten(done: () => void) {
    this.#written = done
    if (this.#writing === 0) done()
  }

  // --- deadlines ----------------------------------------------------------------------------------------------------

  #setTimer(id: string, kind: string, dueAt: number | null) {
    this.#around.timers.set(id, dueAt, () => {
      if (this.isOurs(id)) this.#fireDeadlines(this.activate(id, this.#around.definitionOf(kind)))
    })
  }

  #fireDeadlines(actor: LiveActor) {
    const fire = () => {
      const now = this.#around.clock.currentTimeMillisUnsafe()
      let next: number | null = null
      for (const name in actor.deadlines) {
        const { at, event } = actor.deadlines[name]!
        if (at > now) next = Math.min(at, next ?? at)
        else this.#enqueue(actor, unawaited(event, "deadline", { deadline: { name, at } }))
      }
      // Fired deadlines stay in the state until their commit, but are not fired again meanwhile.
      this.#setTimer(actor.id, actor.definition.kind, next)
    }
    // A loading actor fires once it knows its deadlines.
    if (actor.revision === 0) this.#enqueue(actor, unawaited(null, "wake", { succeed: fire }))
    else fire()
  }

  // --- the mailbox --------------------------------------------------------------------------------------------------

  /** Puts a message into its actor's mailbox, or sends it to the process that owns the actor. */
  deliver(definition: ActorDefinition, id: string, message: Message) {
    if (this.isOurs(id)) {
      this.catchUp(id, message.revision)
      return this.#enqueue(this.activate(id, definition), message)
    }
    const known = this.#live.get(id)
    if (known !== undefined) this.#leave(known)
    if (message.moved !== null) return message.moved()
    this.#around.carry(definition, id, message)
  }

  #enqueue(actor: LiveActor, message: Message) {
    if (actor.dropped) return this.#redeliver(actor, [message])
    if (actor.mailbox.length >= this.#options.mailboxMax) return message.fail(new MailboxFull({ actorId: actor.id }))
    actor.mailbox.push(message)
    if (!actor.busy) this.#pump(actor)
  }

  /**
   * The actor or its revision moved: the present owner decides about these messages. The limit is a time, not a count, because each
   * message that contends for its key in vain sends all messages behind it around once.
   */
  #redeliver(actor: LiveActor, messages: ReadonlyArray<Message>) {
    for (const message of messages) {
      if (message.done !== null || message.event === null) continue // the new owner does pending commands itself
      const lookingSince = message.lookingSince ?? performance.now()
      if (performance.now() - lookingSince > this.#options.ownerPatienceMs) {
        message.die(new OwnerAway({ actorId: actor.id }))
      } else this.deliver(actor.definition, actor.id, { ...message, lookingSince })
    }
  }

  #pump(actor: LiveActor) {
    while (!actor.busy && !actor.dropped && actor.mailbox.length > 0) {
      // A frozen process first gets the results it waited for, and only then learns that its actors have another owner.
      if (!this.#isOwn(actor)) return this.#leave(actor)
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
      const { change } = step
      const { commands } = step.verdict
      return this.#commit(actor, message, change, () => {
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
    if (takesKey || tidies) this.#commit(actor, message, { pending, deadlines, transition: null }, answer)
    else answer()
  }

  #commitSpan(actor: LiveActor, { span, cause }: Message, { revision, transition }: ActorCommit) {
    const { traced } = this.#around
    if (traced === null || span === null || transition === null) return null
    const { event, from, to } = transition
    const { type } = event as AnyEvent
    return traced.begin("ActorHost.commit", span, { actor: actor.id, revision, event: type, from, to, cause })
  }

  #commit(actor: LiveActor, message: Message, change: Change, committed: () => void) {
    actor.busy = true
    this.#writing++
    const record = commitOf(actor, change, message.idempotency)
    const span = this.#commitSpan(actor, message, record)
    const done = (outcome: CommitOutcome) => {
      if (span !== null) this.#around.traced!.end(span, outcome === "committed" ? null : outcome)
      if (--this.#writing === 0) this.#written()
      if (outcome !== "committed") return this.#notCommitted(actor, message, outcome)
      actor.stored = record.snapshot
      actor.pending = change.pending
      if (change.deadlines !== actor.deadlines) {
        actor.deadlines = change.deadlines
        if (!actor.dropped) this.#setTimer(actor.id, actor.definition.kind, record.dueAt)
      }
      if (change.transition !== null) {
        actor.snapshot = change.transition.snapshot
        actor.revision += 1
        actor.changedAt = change.transition.record.at
        countTransition(actor.definition.kind, change.transition.record.to)
      }
      try {
        committed()
      } catch (defect) {
        this.#around.fork(
          Effect.logError(`A follow-up of a commit of ${actor.id} failed; the actor is reloaded`, defect)
        )
        return this.#leave(actor)
      }
      actor.busy = false
      this.#pump(actor)
    }
    this.#around.journal.commit(record, done, span)
  }

  /** The stored state differs from the one in memory, or the database rejects the record. */
  #notCommitted(actor: LiveActor, message: Message, outcome: Exclude<CommitOutcome, "committed">) {
    const waiting = actor.mailbox.splice(0)
    this.#drop(actor)
    if (outcome === "failed") {
      if (message.done !== null) {
        const key = `${actor.id} ${message.done}`
        this.#refused.set(key, (this.#refused.get(key) ?? 0) + 1)
      }
      message.die(new TransitionRefused({ actorId: actor.id }))
    } else if (message.idempotency !== null) message.fail(new KeyContended({ actorId: actor.id }))
    else this.#redeliver(actor, [message])
    this.#redeliver(actor, waiting)
  }
}
