/**
 * Which actors are in this process's memory: loads an actor when it is needed, and drops it when it was unused for long or its shard moved.
 *
 * A lost shard is noticed before each message and by a sweep; until then the journal's revision check fences the old owner.
 */
import { Cause, Effect } from "effect"
import { BoundedMap } from "../store/BoundedMap.ts"
import type { ActorInsert } from "../store/JournalRecord.ts"
import type { ActorDeadlines } from "./ActorDeadlines.ts"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import { ActorNotFound } from "./ActorError.ts"
import type { OwnActorsOptions, Surroundings } from "./ActorSurroundings.ts"
import type { CommandRestarts } from "./CommandRestarts.ts"
import type { CommandRunner } from "./CommandRunner.ts"
import type { Inbox } from "./Inbox.ts"
import { LiveActor } from "./LiveActor.ts"
import { type Message, unawaited } from "./Message.ts"
import { shardOf } from "./shards.ts"
import { earliest } from "./Transition.ts"
import { countTransition } from "./transitionMetrics.ts"

const unusableMax = 1000

/** What an actor in memory has running. */
interface Running {
  readonly commands: CommandRunner
  readonly restarts: CommandRestarts
  readonly deadlines: ActorDeadlines
}

export class ActorResidency {
  readonly #passivateAfterMs: number
  readonly #around: Surroundings
  readonly #running: Running
  readonly #inbox: Inbox
  readonly #live = new Map<string, LiveActor>()
  /** Actors that this version cannot load. */
  readonly #unusable = new BoundedMap<string, true>(unusableMax)
  #isClosing = false

  constructor({ passivateAfterMs }: OwnActorsOptions, around: Surroundings, running: Running, inbox: Inbox) {
    this.#passivateAfterMs = passivateAfterMs
    this.#around = around
    this.#running = running
    this.#inbox = inbox
  }

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

  /** Whether an actor in memory is still this process's, and was loaded in the present epoch of its shard. */
  isOwn({ shard, epoch }: LiveActor): boolean {
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
      !this.isOwn(actor)
    )
      return null
    actor.lastUsedAt = this.#around.clock.currentTimeMillisUnsafe()
    return actor.state()
  }

  /** The revision that is committed, if this process owns the actor, has it in memory and writes no commit of it; else null. */
  committedRevision(id: string): number | null {
    const actor = this.#live.get(id)
    return actor === undefined || actor.busy || actor.dropped || !this.isOwn(actor) ? null : actor.revision
  }

  // --- loading ------------------------------------------------------------------------------------------------------

  /** Loads an existing actor that this process owns. */
  activate(id: string, definition: ActorDefinition): LiveActor {
    const known = this.#live.get(id)
    if (known !== undefined && this.isOwn(known)) return known
    // Another process may have owned it meanwhile.
    const waiting = known === undefined ? [] : known.mailbox.splice(0)
    if (known !== undefined) this.drop(known)
    const actor = this.newActor(id, definition)
    this.#live.set(id, actor)
    this.#load(actor)
    this.#inbox.redeliver(actor, waiting)
    return actor
  }

  #load(actor: LiveActor): void {
    const { id, definition } = actor
    this.#around.fork(
      Effect.matchCause(this.#around.journal.load(id), {
        onFailure: (cause) => {
          this.drop(actor)
          for (const message of actor.mailbox.splice(0)) message.die(Cause.squash(cause))
        },
        onSuccess: (row) => {
          if (row === null || row.kind !== definition.kind) {
            this.drop(actor)
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
  }

  /** Starts a newly inserted actor; `span` is the parent of its commands. */
  adopt({ row, createdAt, transition }: ActorInsert, span: Message["span"]) {
    const { clock, definitionOf, journal } = this.#around
    countTransition(row.kind, transition.to)
    journal.tellWritten([row.accountId])
    if (this.#live.has(row.id)) return
    const definition = definitionOf(row.kind)
    if (!this.isOurs(row.id)) return this.#inbox.deliver(definition, row.id, unawaited(null, "wake", { span }))
    // The insert was long ago: a sweep may have woken the actor, and it may have changed and been passivated since.
    if (clock.currentTimeMillisUnsafe() - createdAt >= this.#passivateAfterMs) {
      this.activate(row.id, definition)
      return
    }
    const actor = this.newActor(row.id, definition)
    this.#live.set(row.id, actor)
    actor.become(row)
    this.#settleIn(actor, span)
  }

  /** After a load or an insert: restarts the commands, sets the deadline's timer, and opens the mailbox. */
  #settleIn(actor: LiveActor, span: Message["span"] = null): void {
    actor.busy = false
    for (const command of actor.pending) this.#running.restarts.start(actor, command, span)
    this.#running.deadlines.setTimer(actor.id, actor.definition.kind, earliest(actor.deadlines))
    this.#inbox.pump(actor)
  }

  /** Reloads an actor whose state in memory is older than the committed one. */
  catchUp(id: string, revision: number): void {
    const actor = this.#live.get(id)
    if (actor === undefined || actor.busy || actor.revision >= revision) return
    const waiting = actor.mailbox.splice(0)
    this.drop(actor)
    this.activate(actor.id, actor.definition)
    this.#inbox.redeliver(actor, waiting)
  }

  /** An owned actor has something to do, now or at `dueAt`, according to the database at that revision. */
  expect(id: string, definition: ActorDefinition, revision: number, hasPending: boolean, dueAt: number | null): void {
    const { deadlines } = this.#running
    if (hasPending) this.activate(id, definition)
    const actor = this.#live.get(id)
    if (actor === undefined) deadlines.setTimer(id, definition.kind, dueAt)
    else if (actor.revision > 0 && actor.revision < revision) this.catchUp(id, revision)
    // An actor that was awake all the time may have a deadline beyond the horizon of its last timer. A loading actor sets its own timer.
    else if (actor.revision > 0) deadlines.setTimer(id, definition.kind, earliest(actor.deadlines))
  }

  // --- dropping -----------------------------------------------------------------------------------------------------

  drop(actor: LiveActor): void {
    actor.dropped = true
    if (this.#live.get(actor.id) === actor) this.#live.delete(actor.id)
    this.#running.commands.endAll(actor)
  }

  /** The stored state is unusable for this version: reports that to all waiting senders. Other actors are unaffected. */
  #reject(actor: LiveActor, defect: unknown): void {
    if (this.#unusable.get(actor.id) === undefined) {
      this.#unusable.set(actor.id, true)
      this.#around.fork(Effect.logError(`The stored state of ${actor.id} cannot be used`, defect))
    }
    this.drop(actor)
    for (const message of actor.mailbox.splice(0)) message.die(defect)
  }

  /** The shard moved: sends the waiting messages to the new owner. */
  leave(actor: LiveActor): void {
    const waiting = actor.mailbox.splice(0)
    this.drop(actor)
    this.#inbox.redeliver(actor, waiting)
  }

  /** The same, if the actor is in memory. */
  leaveIfKnown(id: string): void {
    const known = this.#live.get(id)
    if (known !== undefined) this.leave(known)
  }

  /** Drops actors whose shards moved, and actors that were unused for long. */
  sweep(): void {
    const now = this.#around.clock.currentTimeMillisUnsafe()
    for (const actor of this.#live.values()) {
      if (!this.isOwn(actor)) this.leave(actor)
      else if (actor.isIdle && now - actor.lastUsedAt >= this.#passivateAfterMs) this.drop(actor)
    }
  }

  /** Stops: sends waiting messages to the next owners. From now on this process owns no actor. */
  close(): void {
    this.#isClosing = true
    for (const actor of [...this.#live.values()]) this.leave(actor)
  }
}
