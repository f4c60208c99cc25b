/**
 * The host of all actors. Each has one mailbox and makes one transition at a time, which is committed before it is visible.
 *
 * Effect Cluster decides which process owns an actor (by its shard) and carries messages there (`OtherOwners.ts`). Within the owner,
 * messages bypass the cluster (`OwnActors.ts`).
 *
 * @source design.md "The actor"; ARCHITECTURE.md "Departures"
 */
import { Clock, Context, Effect, FiberSet, Layer, Metric, Scope } from "effect"
import { Sharding } from "effect/cluster"
import type { AnyStateMachine } from "xstate"
import { measuredGauge } from "../platform/metric/measured.ts"
import { tracing, within } from "../platform/trace/Tracing.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { Journal } from "../store/Journal.ts"
import type { ActorInsert, IdempotencyKey } from "../store/JournalRecord.ts"
import { SoleOwnership } from "../store/SoleOwner.ts"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import { actorEntity } from "./ActorEntity.ts"
import { type ActorError, type KeyContended, TransitionRefused } from "./ActorError.ts"
import type { OwnActorsOptions } from "./ActorSurroundings.ts"
import { actorRecovery, type RecoveryOptions } from "./actorRecovery.ts"
import { actorSending, begins, type Delivery } from "./actorSending.ts"
import { CommandRunner } from "./CommandRunner.ts"
import { CommitListeners } from "./CommitListeners.ts"
import { DeadlineTimers } from "./DeadlineTimers.ts"
import type { ContextOf, EventOf, InputOf } from "./machineTypes.ts"
import { firstRevision, type NewActor } from "./NewActor.ts"
import { OtherOwners } from "./OtherOwners.ts"
import { OwnActors } from "./OwnActors.ts"
import { ShardEpochs } from "./ShardEpochs.ts"
import { storedState } from "./storedState.ts"

export interface ActorHostOptions extends OwnActorsOptions, RecoveryOptions {}

export const defaultOptions: ActorHostOptions = {
  mailboxMax: 10_000,
  passivateAfterMs: 60_000,
  sweepIntervalMs: 5_000,
  deadlineHorizonMs: 60_000,
  ownerPatienceMs: 10_000,
  passOnWithinMs: 4_000,
  shardsLookEveryMs: 200,
  stopWithinMs: 1_000
}

const liveActors = Metric.gauge("atoll_actors_live", { description: "Actors in memory." })

export class ActorHost extends Context.Service<
  ActorHost,
  {
    /** Registers a kind. `recover` wakes its waiting actors. */
    readonly register: (definition: ActorDefinition) => Effect.Effect<void>
    /** The first revision of a new actor, not stored yet: for callers that insert it in their own transaction and then `adopt` it. */
    readonly prepare: <M extends AnyStateMachine>(machine: M, actor: NewActor<InputOf<M>>) => ActorInsert
    /** Starts the commands of a newly inserted actor. */
    readonly adopt: (inserted: ActorInsert) => Effect.Effect<void>
    /** Stores a new actor once, and returns its committed state. Null: its id or idempotency key already exists, and nothing was stored. */
    readonly create: <M extends AnyStateMachine>(
      machine: M,
      actor: NewActor<InputOf<M>>
    ) => Effect.Effect<ActorState<ContextOf<M>> | null>
    /** Delivers an event and answers with the committed state after it, or with the unchanged state. */
    readonly send: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      event: EventOf<M>,
      delivery: Delivery
    ) => Effect.Effect<ActorState<ContextOf<M>>, ActorError>
    /**
     * The same, and stores the key in the event's commit, even if nothing else changes; a refused event stores no key.
     * The actor is the key's target. KeyContended: nothing was committed, and another call may hold the key.
     */
    readonly sendOnce: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      event: EventOf<M>,
      delivery: Delivery,
      key: IdempotencyKey
    ) => Effect.Effect<ActorState<ContextOf<M>>, ActorError | KeyContended>
    /**
     * The same, as a fenced takeover write: if an owner in another process does not answer within 500 ms, the transition is decided and
     * committed here, fenced by its revision. The owner, or the successor of a dead one, runs its commands.
     */
    readonly takeOverWrite: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      event: EventOf<M>,
      delivery: Delivery
    ) => Effect.Effect<ActorState<ContextOf<M>>, ActorError>
    /** Whether this process owns the actor: then `onCommit` reports every commit to it. */
    readonly owns: (id: string) => boolean
    /** Emits the states after a revision, whichever process commits them, until interrupted. May skip some, but not the latest. */
    readonly follow: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      revision: number,
      listener: (state: ActorState<ContextOf<M>>) => void
    ) => Effect.Effect<never>
    /**
     * The committed state of an actor that this process owns and has in memory; else null.
     * Only for decisions that are checked again later: an owner notices a lost shard late.
     */
    readonly peek: <M extends AnyStateMachine>(machine: M, id: string) => ActorState<ContextOf<M>> | null
    /** Loads an existing actor into memory, if this process owns it. */
    readonly awaken: (machine: AnyStateMachine, id: string) => void
    /** Wakes every actor of this process with pending commands or deadlines; runs again at each sweep. */
    readonly recover: Effect.Effect<void>
    /** Calls back after each commit to that actor in this process, and after a reload: another process may have committed. */
    readonly onCommit: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      listener: (state: ActorState<ContextOf<M>>) => void
    ) => Effect.Effect<void, never, Scope.Scope>
    /** The number of actors in memory. */
    readonly size: Effect.Effect<number>
    /** True once no command runs and no message waits (for tests). */
    readonly isQuiet: Effect.Effect<boolean>
  }
>()("atoll/engine/ActorHost") {
  static readonly layer = (options: Partial<ActorHostOptions> = {}) =>
    Layer.effect(ActorHost, make({ ...defaultOptions, ...options }))
}

/** The actors of this process, those of the others, and what both need. */
const allActors = Effect.fnUntraced(function* (options: ActorHostOptions) {
  const journal = yield* Journal
  const watch = yield* DatabaseWatch
  const sharding = yield* Sharding.Sharding
  const epochs = yield* ShardEpochs
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const traced = yield* tracing
  const fork = yield* FiberSet.makeRuntime()
  const definitions = new Map<string, ActorDefinition>()
  const definitionOf = (kind: string) => {
    const definition = definitions.get(kind)
    if (definition === undefined) throw new Error(`No actor kind "${kind}" is registered.`)
    return definition
  }

  const listeners = new CommitListeners((id, defect) => {
    fork(Effect.logError(`A listener to ${id} failed`, defect))
  })
  const committed = (state: ActorState) => listeners.tell(state)
  const actors = new OwnActors(options, {
    journal,
    sharding,
    epochs,
    clock,
    timers: yield* DeadlineTimers.make(options.deadlineHorizonMs),
    fork,
    traced,
    commands: (enqueue) => new CommandRunner(fork, watch.fault, enqueue, traced !== null),
    definitionOf,
    committed,
    carry: (definition, id, message) => fork(within(others.carry(definition, id, message), message.span))
  })
  const others = new OtherOwners(actors, listeners, options.ownerPatienceMs, scope)
  yield* measuredGauge(liveActors, () => actors.size)
  const isTraced = traced !== null
  return {
    ...{ journal, watch, sharding, epochs, clock, scope, isTraced, fork },
    ...{ definitions, definitionOf, listeners, committed, actors, others }
  }
})

const make = Effect.fnUntraced(function* (options: ActorHostOptions) {
  const all = yield* allActors(options)
  const { journal, sharding, scope, definitions, definitionOf, listeners, actors, others } = all
  const { asking, send, sendOnce, sendTakingOver } = actorSending(all)

  const prepare = (machine: AnyStateMachine, actor: NewActor) => firstRevision(definitionOf(machine.id), actor)

  const adopt = (inserted: ActorInsert) => asking((span) => Effect.sync(() => actors.adopt(inserted, span)))

  const create = Effect.fnUntraced(function* (machine: AnyStateMachine, actor: NewActor) {
    const inserted = prepare(machine, actor)
    yield* begins(actor)
    const outcome = yield* journal.insert(inserted)
    if (outcome === "failed") return yield* Effect.die(new TransitionRefused({ actorId: actor.id }))
    if (outcome === "fenced") return null
    yield* adopt(inserted)
    return storedState(inserted.row)
  }, Effect.uninterruptible)

  const register = Effect.fnUntraced(function* (definition: ActorDefinition) {
    definitions.set(definition.kind, definition)
    const owner = others.ownerOf(definition)
    const forward = yield* actorEntity(definition.kind, owner).pipe(
      Effect.provideService(Sharding.Sharding, sharding),
      Effect.provideService(Scope.Scope, scope)
    )
    others.reach(definition.kind, forward, owner)
  })

  const recover = yield* actorRecovery(options, all)
  const owner = yield* SoleOwnership
  owner.revisionOf = (id) => actors.committedRevision(id)
  owner.awaken = (kind, id) => {
    const definition = definitions.get(kind)
    if (definition !== undefined && actors.isOurs(id)) actors.activate(id, definition)
  }

  /** A loaded state was checked against the machine's context (`LiveActor.become`), so it has the machine's types. */
  return ActorHost.of({
    register,
    prepare,
    adopt,
    create: create as never,
    send: send as never,
    sendOnce: sendOnce as never,
    takeOverWrite: sendTakingOver as never,
    peek: (machine, id) => actors.peek(machine.id, id) as never,
    awaken: (machine, id) => {
      if (actors.isOurs(id)) actors.activate(id, definitionOf(machine.id))
    },
    recover,
    owns: (id) => actors.isOurs(id),
    follow: (machine, id, revision, listener) => others.follow(machine.id, id, revision, listener as never),
    onCommit: (machine, id, listener) => {
      const told = (state: ActorState) => {
        if (state.kind === machine.id) listener(state as never)
      }
      return Effect.acquireRelease(
        Effect.sync(() => listeners.add(id, told)),
        () => Effect.sync(() => listeners.remove(id, told))
      )
    },
    size: Effect.sync(() => actors.size),
    isQuiet: Effect.sync(() => actors.isQuiet)
  })
})
