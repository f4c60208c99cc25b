/** Commits the steps of this process's actors to the journal. An actor handles no other message while its commit is being written. */
import { Effect } from "effect"
import type { ActorCommit, CommitOutcome } from "../store/JournalRecord.ts"
import type { ActorDeadlines } from "./ActorDeadlines.ts"
import type { AnyEvent } from "./ActorDefinition.ts"
import { KeyContended, TransitionRefused } from "./ActorError.ts"
import type { ActorResidency } from "./ActorResidency.ts"
import type { Surroundings } from "./ActorSurroundings.ts"
import type { CommandRestarts } from "./CommandRestarts.ts"
import type { Inbox } from "./Inbox.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"
import { type Change, commitOf } from "./takeStep.ts"
import { countTransition } from "./transitionMetrics.ts"

/** The parts of the actors' process that follow a commit. */
interface Followers {
  readonly residency: ActorResidency
  readonly deadlines: ActorDeadlines
  readonly restarts: CommandRestarts
}

export class ActorCommits {
  readonly #around: Pick<Surroundings, "journal" | "fork" | "traced">
  readonly #followers: Followers
  readonly #inbox: Inbox
  /** Running commits, including those of actors that have left. */
  #writing = 0
  /** Called when no commit is running. */
  #written = () => {}

  constructor(around: Pick<Surroundings, "journal" | "fork" | "traced">, followers: Followers, inbox: Inbox) {
    this.#around = around
    this.#followers = followers
    this.#inbox = inbox
  }

  /** Calls back once no commit is running, perhaps immediately. */
  onceWritten(done: () => void): void {
    this.#written = done
    if (this.#writing === 0) done()
  }

  #commitSpan(actor: LiveActor, { span, cause }: Message, { revision, transition }: ActorCommit) {
    const { traced } = this.#around
    if (traced === null || span === null || transition === null) return null
    const { event, from, to } = transition
    const { type } = event as AnyEvent
    return traced.begin("ActorHost.commit", span, { actor: actor.id, revision, event: type, from, to, cause })
  }

  /** @param committed Called once the actor has the committed state. */
  commit(actor: LiveActor, message: Message, change: Change, committed: () => void): void {
    actor.busy = true
    this.#writing++
    const record = commitOf(actor, change, message.idempotency)
    const span = this.#commitSpan(actor, message, record)
    const done = (outcome: CommitOutcome) => {
      if (span !== null) this.#around.traced!.end(span, outcome === "committed" ? null : outcome)
      if (--this.#writing === 0) this.#written()
      if (outcome !== "committed") return this.#notCommitted(actor, message, outcome)
      this.#become(actor, change, record)
      try {
        committed()
      } catch (defect) {
        this.#around.fork(
          Effect.logError(`A follow-up of a commit of ${actor.id} failed; the actor is reloaded`, defect)
        )
        return this.#followers.residency.leave(actor)
      }
      actor.busy = false
      this.#inbox.pump(actor)
    }
    this.#around.journal.commit(record, done, span)
  }

  /** Gives the actor the committed state. */
  #become(actor: LiveActor, change: Change, record: ActorCommit): void {
    actor.stored = record.snapshot
    actor.storedVersion = actor.definition.version
    actor.pending = change.pending
    if (change.deadlines !== actor.deadlines) {
      actor.deadlines = change.deadlines
      if (!actor.dropped) this.#followers.deadlines.setTimer(actor.id, actor.definition.kind, record.dueAt)
    }
    if (change.transition !== null) {
      actor.snapshot = change.transition.snapshot
      actor.revision += 1
      actor.changedAt = change.transition.record.at
      countTransition(actor.definition.kind, change.transition.record.to)
    }
  }

  /** The stored state differs from the one in memory, or the database rejects the record. */
  #notCommitted(actor: LiveActor, message: Message, outcome: Exclude<CommitOutcome, "committed">): void {
    const waiting = actor.mailbox.splice(0)
    this.#followers.residency.drop(actor)
    if (outcome === "failed") {
      if (message.done !== null) this.#followers.restarts.noteRejected(actor, message.done)
      message.die(new TransitionRefused({ actorId: actor.id }))
    } else if (message.idempotency !== null) message.fail(new KeyContended({ actorId: actor.id }))
    else this.#inbox.redeliver(actor, [message])
    this.#inbox.redeliver(actor, waiting)
  }
}
