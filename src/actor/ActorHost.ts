/**
 * The host of all actors: one mailbox each, one transition at a time, committed before anyone sees it.
 *
 * Effect Cluster decides which process owns an actor (its shard) and carries messages there (`OtherOwners.ts`). Within the owner a
 * message takes a short way (`OwnActors.ts`).
 *
 * @source design.md "The actor"; ARCHITECTURE.md "Departures"
 */
import { Clock, Context, Effect, FiberSet, Layer, Metric, Scope, type Tracer } from "effect"
import { Sharding } from "effect/cluster"
import type { AnyStateMachine } from "xstate"
import { measuredGauge } from "../metric/measured.ts"
import { changeBegins } from "../store/Change.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { Journal } from "../store/Journal.ts"
import type { ActorInsert, IdempotencyKey } from "../store/JournalRecord.ts"
import { spanOf, tracing, within } from "../trace/Tracing.ts"
import { vitalWorker } from "../worker/Worker.ts"
import type { ActorDefinition, ActorState, AnyEvent } from "./ActorDefinition.ts"
import { actorEntity } from "./ActorEntity.ts"
import { type ActorError, type KeyContended, TransitionRefused } from "./ActorError.ts"
import { CommandRunner } from "./CommandRunner.ts"
import { CommitListeners } from "./CommitListeners.ts"
import { DeadlineTimers } from "./DeadlineTimers.ts"
import { insist } from "./insist.ts"
import { unawaited } from "./Message.ts"
import type { ContextOf, EventOf, InputOf } from "./machineTypes.ts"
import { firstRevision, type NewActor } from "./NewActor.ts"
import { OtherOwners } from "./OtherOwners.ts"
import { OwnActors, type OwnActorsOptions } from "./OwnActors.ts"
import { ShardTenures } from "./ShardTenures.ts"
import { allShards } from "./shards.ts"
import { storedState } from "./storedState.ts"

export interface Delivery {
  readonly cause: string
  readonly requestId?: string | null
  /** Of what the sender has read: the owner decides by nothing older. */
  readonly revision?: number
}

export interface ActorHostOptions extends OwnActorsOptions {
  readonly sweepIntervalMs: number
  /** How far ahead deadlines are held in memory; the database is asked for the rest. */
  readonly deadlineHorizonMs: number
  /** How soon actors of shards that came here are woken, and those of shards that went are forgotten. */
  readonly shardsLookEveryMs: number
  /** How long a stop waits for the transitions that are being written. */
  readonly stopWithinMs: number
}

export const defaultOptions: ActorHostOptions = {
  mailboxMax: 10_000,
  passivateAfterMs: 60_000,
  sweepIntervalMs: 5_000,
  deadlineHorizonMs: 60_000,
  ownerPatienceMs: 10_000,
  shardsLookEveryMs: 200,
  stopWithinMs: 1_000
}

const liveActors = Metric.gauge("atoll_actors_live", { description: "Actors in memory." })

export class ActorHost extends Context.Service<
  ActorHost,
  {
    /** Makes a kind known. Its waiting actors are woken by `recover`. */
    readonly register: (definition: ActorDefinition) => Effect.Effect<void>
    /** The first revision of a new actor, not stored yet: for callers that insert it in a transaction of their own and then `adopt` it. */
    readonly prepare: <M extends AnyStateMachine>(machine: M, actor: NewActor<InputOf<M>>) => ActorInsert
    /** Starts the commands of an actor that was just inserted. */
    readonly adopt: (inserted: ActorInsert) => Effect.Effect<void>
    /** Stores a new actor once, and returns its committed state. Null: its id or its idempotency key exists already, and nothing was stored. */
    readonly create: <M extends AnyStateMachine>(
      machine: M,
      actor: NewActor<InputOf<M>>
    ) => Effect.Effect<ActorState<ContextOf<M>> | null>
    /** Delivers an event and answers with the committed state after it (or the unchanged one). */
    readonly send: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      event: EventOf<M>,
      delivery: Delivery
    ) => Effect.Effect<ActorState<ContextOf<M>>, ActorError>
    /**
     * The same, and takes the key in the commit that the event leads to, also if that changes nothing else; a refused event takes none.
     * The actor is the key's target. KeyContended: nothing was committed; the key may be taken now.
     */
    readonly sendOnce: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      event: EventOf<M>,
      delivery: Delivery,
      key: IdempotencyKey
    ) => Effect.Effect<ActorState<ContextOf<M>>, ActorError | KeyContended>
    /**
     * The same, but not at the mercy of an owner in another process: when that one does not answer at once, the transition is decided and
     * committed here, fenced by its revision, and the owner, or whoever follows a dead one, does its commands.
     */
    readonly insist: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      event: EventOf<M>,
      delivery: Delivery
    ) => Effect.Effect<ActorState<ContextOf<M>>, ActorError>
    /** Whether this process owns the actor: whatever is committed to it is told by `onCommit`. */
    readonly owns: (id: string) => boolean
    /** Tells the states after a revision, whichever process commits them, until it is interrupted. May miss some; the latest comes. */
    readonly follow: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      revision: number,
      listener: (state: ActorState<ContextOf<M>>) => void
    ) => Effect.Effect<never>
    /**
     * The committed state of an actor that this process owns and holds in memory; else null.
     * Only for what is checked again where it matters: an owner that lost its shard learns of it late.
     */
    readonly peek: <M extends AnyStateMachine>(machine: M, id: string) => ActorState<ContextOf<M>> | null
    /** Fetches an actor that is known to exist into memory, if it is ours. */
    readonly awaken: (machine: AnyStateMachine, id: string) => void
    /** Wakes every actor of ours that has something to do; again at each sweep. */
    readonly recover: Effect.Effect<void>
    /** Calls back after each commit of that actor in this process, and when it is read anew: another one may have committed. */
    readonly onCommit: <M extends AnyStateMachine>(
      machine: M,
      id: string,
      listener: (state: ActorState<ContextOf<M>>) => void
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Actors in memory now. */
    readonly size: Effect.Effect<number>
    /** Resolves once no command is being done and no message waits (for tests). */
    readonly isQuiet: Effect.Effect<boolean>
  }
>()("atoll/actor/ActorHost") {
  static readonly layer = (options: Partial<ActorHostOptions> = {}) =>
    Layer.effect(ActorHost, make({ ...defaultOptions, ...options }))
}

const make = Effect.fnUntraced(function* (options: ActorHostOptions) {
  const journal = yield* Journal
  const watch = yield* DatabaseWatch
  const sharding = yield* Sharding.Sharding
  const tenures = yield* ShardTenures
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
    fork(Effect.logError(`Whoever listens to ${id} failed`, defect))
  })
  const committed = (state: ActorState) => listeners.tell(state)
  const actors = new OwnActors(options, {
    journal,
    sharding,
    tenures,
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

  // --- messages -----------------------------------------------------------------------------------------------------

  /** What the service sends of its own is nobody's change: it would have been sent anyhow, or will be again. */
  const begins = ({ cause }: Delivery): Effect.Effect<void> => (cause === "client" ? changeBegins : Effect.void)

  /** What is asked by a fiber is a part of the trace that it is in. */
  const asking = <A, E>(ask: (span: Tracer.AnySpan | null) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    traced === null ? ask(null) : Effect.withFiber((fiber) => ask(spanOf(fiber)))

  const deliver = (
    machine: AnyStateMachine,
    id: string,
    event: AnyEvent,
    delivery: Delivery,
    idempotency: IdempotencyKey | null,
    span: Tracer.AnySpan | null
  ) =>
    watch.patiently<ActorState, ActorError | KeyContended>((resume) => {
      actors.deliver(definitionOf(machine.id), id, {
        event,
        cause: delivery.cause,
        requestId: delivery.requestId ?? null,
        revision: delivery.revision ?? 0,
        done: null,
        deadline: null,
        idempotency,
        lookingSince: null,
        span,
        succeed: (state) => resume(Effect.succeed(state)),
        fail: (error) => resume(Effect.fail(error)),
        die: (defect) => resume(Effect.die(defect)),
        moved: null
      })
    })

  const sendOnce = (
    machine: AnyStateMachine,
    id: string,
    event: AnyEvent,
    delivery: Delivery,
    idempotency: IdempotencyKey | null
  ) =>
    Effect.andThen(
      begins(delivery),
      asking((span) => deliver(machine, id, event, delivery, idempotency, span))
    )

  /** Without a key there is nothing to contend for. */
  const send = (machine: AnyStateMachine, id: string, event: AnyEvent, delivery: Delivery) =>
    sendOnce(machine, id, event, delivery, null) as Effect.Effect<ActorState, ActorError>

  const sendInsisting = Effect.fnUntraced(function* (
    machine: AnyStateMachine,
    id: string,
    event: AnyEvent,
    delivery: Delivery
  ) {
    const definition = definitionOf(machine.id)
    yield* begins(delivery)
    if (!actors.isOurs(id)) {
      const span = yield* asking(Effect.succeed)
      const { cause, requestId = null, revision = 0 } = delivery
      const message = { ...unawaited(event, cause, { revision, span }), requestId }
      const state = yield* insist({ journal, clock, fork, actors, others, committed }, definition, id, message)
      if (state !== null) return state
    }
    return yield* send(machine, id, event, delivery)
  })

  // --- creation -----------------------------------------------------------------------------------------------------

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

  // --- recovery and passivation -------------------------------------------------------------------------------------

  const recover = Effect.gen(function* () {
    const waiting = yield* journal.waiting(clock.currentTimeMillisUnsafe() + options.deadlineHorizonMs)
    for (const { id, kind, revision, hasPending, dueAt } of waiting) {
      const definition = definitions.get(kind)
      if (definition !== undefined && actors.isOurs(id)) actors.expect(id, definition, revision, hasPending, dueAt)
    }
  })

  const sweep = Effect.sync(() => actors.sweep())

  /** Shards come and go with the processes of a cluster. */
  const watchShards = Effect.gen(function* () {
    let before = ""
    while (true) {
      const now = allShards.map((shard) => (sharding.hasShardId(shard) ? tenures.of(shard) : "")).join()
      if (now !== before) {
        before = now
        yield* sweep
        others.tellMoved()
        yield* recover
      }
      yield* Effect.sleep(options.shardsLookEveryMs)
    }
  })
  yield* vitalWorker("shards", watchShards)

  yield* vitalWorker(
    "actor sweep",
    Effect.andThen(sweep, recover).pipe(Effect.delay(options.sweepIntervalMs), Effect.forever)
  )

  // What waits here goes to the next owners, after the last transitions that were begun here.
  const lastCommits = Effect.callback<void>((resume) => actors.onceWritten(() => resume(Effect.void)))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      actors.close()
      others.tellMoved()
      return options.stopWithinMs === 0 ? Effect.void : Effect.timeoutOption(lastCommits, options.stopWithinMs)
    })
  )

  /** What is loaded was held against the machine's context (`LiveActor.become`), so the state has the machine's types. */
  return ActorHost.of({
    register,
    prepare,
    adopt,
    create: create as never,
    send: send as never,
    sendOnce: sendOnce as never,
    insist: sendInsisting as never,
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
