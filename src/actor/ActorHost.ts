/**
 * The host of all actors: one mailbox each, one transition at a time, committed before anyone sees it.
 *
 * Effect Cluster decides which process owns an actor (its shard) and carries messages there. Within the owner a message takes a
 * short way: a cluster message costs about 35 µs, more than the transition itself, so an owned actor's mailbox is a plain array here.
 * A lost shard is noticed before each message and by a sweep; until then the journal's revision check fences the old owner.
 *
 * @source design.md "The actor"; ARCHITECTURE.md "Departures"
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, FiberSet, Layer, Metric, Option, Scope } from "effect"
import { Sharding } from "effect/cluster"
import { measuredGauge } from "../metric/measured.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { changeBegins } from "../store/Change.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { Journal } from "../store/Journal.ts"
import type { ActorCommit, ActorInsert, CommitOutcome, IdempotencyKey, PendingCommand } from "../store/JournalRecord.ts"
import { vitalWorker } from "../worker/Worker.ts"
import type { ActorDefinition, ActorState, AnyEvent } from "./ActorDefinition.ts"
import { type ActorForward, type ActorOwner, actorEntity } from "./ActorEntity.ts"
import {
  type ActorError,
  ActorFailed,
  ActorMoved,
  ActorNotFound,
  EventRefused,
  KeyContended,
  MailboxFull,
  OwnerAway,
  TransitionRefused
} from "./ActorError.ts"
import { CommandRunner, withCommands } from "./CommandRunner.ts"
import { DeadlineTimers } from "./DeadlineTimers.ts"
import { LiveActor } from "./LiveActor.ts"
import { type Message, unawaited } from "./Message.ts"
import { firstRevision, type NewActor } from "./NewActor.ts"
import { allShards, shardOf } from "./shards.ts"
import { decide, earliest, stamp, store } from "./Transition.ts"
import { countTransition } from "./transitionMetrics.ts"

export interface Delivery {
  readonly cause: string
  readonly requestId?: string | null
}

export interface ActorHostOptions {
  readonly mailboxMax: number
  readonly passivateAfterMs: number
  readonly sweepIntervalMs: number
  /** How far ahead deadlines are held in memory; the database is asked for the rest. */
  readonly deadlineHorizonMs: number
  /** How long a message looks for an owner: longer than the actors of a process that died stay without one. */
  readonly ownerPatienceMs: number
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

/** Then an insistent message goes the way of all others. */
const insistTimesMax = 5
const refusedPauseMaxMs = 300_000
const troublesMax = 1000
const forwardAgainMs = 50
const followAgainMs = 500
/** An owner that lives answers in milliseconds. */
const insistAfterMs = 500

const liveActors = Metric.gauge("atoll_actors_live", { description: "Actors in memory." })

export class ActorHost extends Context.Service<
  ActorHost,
  {
    /** Makes a kind known. Its waiting actors are woken by `recover`. */
    readonly register: <C>(definition: ActorDefinition<C>) => Effect.Effect<void>
    /** The first revision of a new actor, not stored yet: for callers that insert it in a transaction of their own and then `adopt` it. */
    readonly prepare: (kind: string, actor: NewActor) => ActorInsert
    /** Starts the commands of an actor that was just inserted. */
    readonly adopt: (inserted: ActorInsert) => Effect.Effect<void>
    /** Stores a new actor once. False: its id or its idempotency key exists already, and nothing was stored. */
    readonly create: (kind: string, actor: NewActor) => Effect.Effect<boolean>
    /** Delivers an event and answers with the committed state after it (or the unchanged one). */
    readonly send: (
      kind: string,
      id: string,
      event: AnyEvent,
      delivery: Delivery
    ) => Effect.Effect<ActorState, ActorError>
    /**
     * The same, and takes the key in the commit that the event leads to, also if that changes nothing else; a refused event takes none.
     * The actor is the key's target. KeyContended: nothing was committed; the key may be taken now.
     */
    readonly sendOnce: (
      kind: string,
      id: string,
      event: AnyEvent,
      delivery: Delivery,
      key: IdempotencyKey
    ) => Effect.Effect<ActorState, ActorError | KeyContended>
    /**
     * The same, but not at the mercy of an owner in another process: when that one does not answer at once, the transition is decided and
     * committed here, fenced by its revision, and the owner, or whoever follows a dead one, does its commands.
     */
    readonly insist: (
      kind: string,
      id: string,
      event: AnyEvent,
      delivery: Delivery
    ) => Effect.Effect<ActorState, ActorError>
    /** Whether this process owns the actor: whatever is committed to it is told by `onCommit`. */
    readonly owns: (id: string) => boolean
    /** Tells the states that another process commits, after a revision, until it is interrupted. May miss some; the latest comes. */
    readonly follow: (
      kind: string,
      id: string,
      revision: number,
      listener: (state: ActorState) => void
    ) => Effect.Effect<never>
    /**
     * The committed state of an actor that this process owns and holds in memory; else null.
     * Only for what is checked again where it matters: an owner that lost its shard learns of it late.
     */
    readonly peek: (id: string) => ActorState | null
    /** Fetches an actor that is known to exist into memory, if it is ours. */
    readonly awaken: (kind: string, id: string) => void
    /** Wakes every actor of ours that has something to do; again at each sweep. */
    readonly recover: Effect.Effect<void>
    /** Calls back after each commit of that actor in this process. */
    readonly onCommit: (id: string, listener: (state: ActorState) => void) => Effect.Effect<void, never, Scope.Scope>
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
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const fork = yield* FiberSet.makeRuntime()
  const definitions = new Map<string, ActorDefinition>()
  const forwards = new Map<string, ActorForward>()
  const live = new Map<string, LiveActor>()
  const timers = yield* DeadlineTimers.make(options.deadlineHorizonMs)
  const commands = new CommandRunner(fork, watch.fault, (actor, message) => enqueue(actor, message))
  const listeners = new Map<string, Set<(state: ActorState) => void>>()
  yield* measuredGauge(liveActors, () => live.size)
  /** Commands whose outcome the database refused, and how often; actors that this version cannot load. */
  const refused = new BoundedMap<string, number>(troublesMax)
  const unusable = new BoundedMap<string, true>(troublesMax)

  /** A listener's fault is not the actor's. */
  const tell = (state: ActorState) => {
    for (const listener of listeners.get(state.id) ?? []) {
      try {
        listener(state)
      } catch (defect) {
        fork(Effect.logError(`Whoever listens to ${state.id} failed`, defect))
      }
    }
  }

  const definitionOf = (kind: string) => {
    const definition = definitions.get(kind)
    if (definition === undefined) throw new Error(`No actor kind "${kind}" is registered.`)
    return definition
  }

  let isClosing = false
  const isOurs = (id: string) => !isClosing && sharding.hasShardId(shardOf(sharding, id))
  const isOwn = (actor: LiveActor) => !isClosing && sharding.hasShardId(actor.shard)
  const newActor = (id: string, definition: ActorDefinition) =>
    new LiveActor(id, definition, shardOf(sharding, id), clock.currentTimeMillisUnsafe())

  const listen = (id: string, listener: (state: ActorState) => void) => {
    const set = listeners.get(id) ?? new Set()
    set.add(listener)
    listeners.set(id, set)
  }

  const unlisten = (id: string, listener: (state: ActorState) => void) => {
    const set = listeners.get(id)
    set?.delete(listener)
    if (set?.size === 0) listeners.delete(id)
  }

  // --- deadlines ----------------------------------------------------------------------------------------------------

  const setTimer = (id: string, kind: string, dueAt: number | null) =>
    timers.set(id, dueAt, () => {
      if (isOurs(id)) fireDeadlines(activate(id, definitionOf(kind)))
    })

  const fireDeadlines = (actor: LiveActor) => {
    const fire = () => {
      const now = clock.currentTimeMillisUnsafe()
      let next: number | null = null
      for (const name in actor.deadlines) {
        const { at, event } = actor.deadlines[name]!
        if (at > now) next = Math.min(at, next ?? at)
        else enqueue(actor, unawaited(event, "deadline", { deadline: { name, at } }))
      }
      // Those that fire now stay known until their commit, and are not asked for again meanwhile.
      setTimer(actor.id, actor.definition.kind, next)
    }
    // Loading actors fire once they know their deadlines.
    if (actor.revision === 0) enqueue(actor, unawaited(null, "wake", { succeed: fire }))
    else fire()
  }

  // --- the mailbox --------------------------------------------------------------------------------------------------

  const activate = (id: string, definition: ActorDefinition): LiveActor => {
    const known = live.get(id)
    if (known !== undefined) return known
    const actor = newActor(id, definition)
    live.set(id, actor)
    fork(
      Effect.matchCause(journal.load(id), {
        onFailure: (cause) => {
          drop(actor)
          for (const message of actor.mailbox.splice(0)) message.die(Cause.squash(cause))
        },
        onSuccess: (row) => {
          if (row === null || row.kind !== definition.kind) {
            drop(actor)
            for (const message of actor.mailbox.splice(0)) message.fail(new ActorNotFound({ actorId: id }))
            return
          }
          try {
            actor.become(row)
          } catch (defect) {
            return reject(actor, defect)
          }
          settleIn(actor)
        }
      })
    )
    return actor
  }

  /** What is stored of it is not for this version: whoever asked is told so. Others are not concerned. */
  const reject = (actor: LiveActor, defect: unknown) => {
    if (unusable.get(actor.id) === undefined) {
      unusable.set(actor.id, true)
      fork(Effect.logError(`The stored state of ${actor.id} cannot be used`, defect))
    }
    drop(actor)
    for (const message of actor.mailbox.splice(0)) message.die(defect)
  }

  /** An actor that was loaded or just created: its commands run again, its deadline is watched, its mailbox opens. */
  const settleIn = (actor: LiveActor) => {
    actor.busy = false
    for (const command of actor.pending) begin(actor, command)
    setTimer(actor.id, actor.definition.kind, earliest(actor.deadlines))
    pump(actor)
  }

  /** One whose outcome the database refused for good is done again, at ever longer intervals: what it says may have changed. */
  const begin = (actor: LiveActor, command: PendingCommand) => {
    const refusedTimes = refused.get(`${actor.id} ${command.key}`)
    if (refusedTimes === undefined) return commands.start(actor, command)
    const pauseMs = Math.min(1000 * 2 ** refusedTimes, refusedPauseMaxMs)
    fork(
      Effect.andThen(
        Effect.sleep(pauseMs),
        Effect.sync(() => {
          if (!actor.dropped && actor.pending.some(({ key }) => key === command.key)) commands.start(actor, command)
        })
      )
    )
  }

  const drop = (actor: LiveActor) => {
    actor.dropped = true
    if (live.get(actor.id) === actor) live.delete(actor.id)
    commands.endAll(actor)
  }

  const enqueue = (actor: LiveActor, message: Message) => {
    // A process that was frozen hears first of what it waited for, and only then that its actors have another owner.
    if (!actor.dropped && !isOwn(actor)) leave(actor)
    if (actor.dropped) return redeliver(actor, [message])
    if (actor.mailbox.length >= options.mailboxMax) return message.fail(new MailboxFull({ actorId: actor.id }))
    actor.mailbox.push(message)
    if (!actor.busy) pump(actor)
  }

  /**
   * The actor moved or its revision did: whoever owns it now decides about these messages. By time, not by count: each neighbour that
   * contends for its key in vain sends all that wait behind it around once.
   */
  const redeliver = (actor: LiveActor, messages: ReadonlyArray<Message>) => {
    for (const message of messages) {
      if (message.done !== null || message.event === null) continue // the new owner does pending commands itself
      const lookingSince = message.lookingSince ?? performance.now()
      if (performance.now() - lookingSince > options.ownerPatienceMs) message.die(new OwnerAway({ actorId: actor.id }))
      else deliver(actor.definition, actor.id, { ...message, lookingSince })
    }
  }

  const pump = (actor: LiveActor) => {
    while (!actor.busy && !actor.dropped) {
      const message = actor.mailbox.shift()
      if (message === undefined) return
      step(actor, message)
    }
  }

  const step = (actor: LiveActor, message: Message) => {
    const now = clock.currentTimeMillisUnsafe()
    actor.lastUsedAt = now
    const { machine } = actor.definition
    let { pending, deadlines } = actor
    if (message.done !== null) pending = pending.filter((command) => command.key !== message.done)
    if (message.deadline !== null) {
      const { name, at } = message.deadline
      if (deadlines[name]?.at !== at) return
      const { [name]: _fired, ...rest } = deadlines
      deadlines = rest
    }
    const at = actor.instantAt(now)
    const event: AnyEvent | null = message.event === null ? null : stamp(message.event, at)
    let verdict: ReturnType<typeof decide>
    try {
      verdict =
        event === null ? { type: "unchanged" } : decide(machine, actor.snapshot, event, actor.revision + 1, deadlines)
    } catch (defect) {
      fork(Effect.logError(`The machine of ${actor.id} failed on ${message.event?.type}`, defect))
      return message.die(defect)
    }
    if (verdict.type !== "accepted") {
      const answer = () => {
        if (event !== null) decline(actor, event, verdict, message, at)
        if (verdict.type === "refused") {
          message.fail(
            new EventRefused({
              actorId: actor.id,
              event: event?.type ?? "",
              state: actor.snapshot.value as string,
              code: verdict.code
            })
          )
        } else message.succeed(actor.state())
      }
      const takesKey = verdict.type === "unchanged" && message.idempotency !== null
      if (!takesKey && pending === actor.pending && deadlines === actor.deadlines) return answer()
      if (!takesKey && pending.length === actor.pending.length && deadlines === actor.deadlines) return answer()
      return commit(actor, message, { pending, deadlines, transition: null }, answer)
    }
    const nextPending = withCommands(actor, pending, verdict.commands)
    commit(
      actor,
      message,
      {
        pending: nextPending,
        deadlines: verdict.deadlines,
        transition: { snapshot: verdict.snapshot, record: recordOf(actor, event!, verdict, message, at) }
      },
      () => {
        const state = actor.state()
        message.succeed(state)
        tell(state)
        commands.follow(actor, nextPending, verdict.commands)
      }
    )
  }

  const decline = (
    actor: LiveActor,
    event: AnyEvent,
    verdict: Exclude<ReturnType<typeof decide>, { type: "accepted" }>,
    { cause, requestId }: Message,
    at: number
  ) =>
    actor.definition.declined?.({
      actorId: actor.id,
      revision: actor.revision,
      state: actor.snapshot.value as string,
      at,
      event,
      code: verdict.type === "refused" ? verdict.code : null,
      cause,
      requestId
    })

  const recordOf = (
    actor: LiveActor,
    event: AnyEvent,
    verdict: Extract<ReturnType<typeof decide>, { type: "accepted" }>,
    message: Message,
    at: number
  ): NonNullable<ActorCommit["transition"]> => ({
    at,
    event,
    from: actor.snapshot.value as string,
    to: verdict.snapshot.value as string,
    commands: verdict.commands,
    cause: message.cause,
    requestId: message.requestId
  })

  interface Change {
    readonly pending: ReadonlyArray<PendingCommand>
    readonly deadlines: LiveActor["deadlines"]
    readonly transition: {
      readonly snapshot: LiveActor["snapshot"]
      readonly record: NonNullable<ActorCommit["transition"]>
    } | null
  }

  const recordedChange = (actor: LiveActor, change: Change, idempotency: IdempotencyKey | null): ActorCommit => ({
    actorId: actor.id,
    kind: actor.definition.kind,
    accountId: actor.accountId,
    revision: change.transition === null ? actor.revision : actor.revision + 1,
    snapshot: store(change.transition?.snapshot ?? actor.snapshot),
    replaces: actor.stored,
    pending: change.pending === actor.pending ? null : change.pending,
    deadlines: change.deadlines === actor.deadlines ? null : change.deadlines,
    dueAt: earliest(change.deadlines),
    transition: change.transition?.record ?? null,
    idempotency
  })

  /** Commits that are being written, those of actors that left included. */
  let writing = 0
  /** Called when none is left. */
  let written = () => {}

  const commit = (actor: LiveActor, message: Message, change: Change, committed: () => void) => {
    actor.busy = true
    const snapshot = change.transition?.snapshot ?? actor.snapshot
    const dueAt = earliest(change.deadlines)
    writing++
    const record = recordedChange(actor, change, message.idempotency)
    journal.commit(record, (outcome: CommitOutcome) => {
      if (--writing === 0) written()
      if (outcome !== "committed") {
        const waiting = actor.mailbox.splice(0)
        drop(actor)
        if (outcome === "failed") {
          if (message.done !== null) {
            const key = `${actor.id} ${message.done}`
            refused.set(key, (refused.get(key) ?? 0) + 1)
          }
          message.die(new TransitionRefused({ actorId: actor.id }))
        } else if (message.idempotency !== null) message.fail(new KeyContended({ actorId: actor.id }))
        else redeliver(actor, [message])
        return redeliver(actor, waiting)
      }
      actor.snapshot = snapshot
      actor.stored = record.snapshot
      actor.pending = change.pending
      if (change.deadlines !== actor.deadlines) {
        actor.deadlines = change.deadlines
        if (!actor.dropped) setTimer(actor.id, actor.definition.kind, dueAt)
      }
      if (change.transition !== null) {
        actor.revision += 1
        actor.changedAt = change.transition.record.at
        countTransition(actor.definition.kind, change.transition.record.to)
      }
      try {
        committed()
      } catch (defect) {
        fork(Effect.logError(`What follows a commit of ${actor.id} failed; it is loaded anew`, defect))
        return leave(actor)
      }
      actor.busy = false
      pump(actor)
    })
  }

  const deliver = (definition: ActorDefinition, id: string, message: Message) => {
    if (isOurs(id)) {
      const actor = live.get(id)
      return enqueue(actor !== undefined && !actor.dropped ? actor : activate(id, definition), message)
    }
    const stale = live.get(id)
    if (stale !== undefined) leave(stale)
    if (message.moved !== null) return message.moved()
    fork(carry(definition, id, message, 0))
  }

  /** What the service sends of its own is nobody's change: it would have been sent anyhow, or will be again. */
  const begins = ({ cause }: Delivery): Effect.Effect<void> => (cause === "client" ? changeBegins : Effect.void)

  // --- actors of other processes ------------------------------------------------------------------------------------

  /**
   * Whatever a way to another process does, it ends here: its interruption is not ours, and what hangs is left behind.
   * Null: nobody answered in time.
   */
  const apart = <A>(attempt: Effect.Effect<A, unknown>, withinMs: number) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkIn(attempt, scope)
      return Option.getOrNull(
        yield* Fiber.await(fiber).pipe(
          Effect.timeoutOption(withinMs),
          Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
        )
      )
    })

  /** What the owner's answer comes to; null when there was none. */
  const answered = (exit: Exit.Exit<ActorState, unknown> | null) => {
    if (exit === null) return null
    if (Exit.isSuccess(exit)) return exit.value
    const error = Option.getOrNull(Exit.findErrorOption(exit))
    return error instanceof EventRefused ||
      error instanceof ActorNotFound ||
      error instanceof MailboxFull ||
      error instanceof KeyContended ||
      error instanceof ActorFailed
      ? error
      : null
  }

  /** Looks for the owner until one answers: it may be stopping, dead without anybody knowing, or this process by now. */
  const carry = (definition: ActorDefinition, id: string, message: Message, revision: number) =>
    Effect.gen(function* () {
      const giveUpAt = performance.now() + options.ownerPatienceMs
      while (!isClosing) {
        if (isOurs(id)) return deliver(definition, id, message)
        const left = giveUpAt - performance.now()
        if (left <= 0) break
        const answer = answered(yield* apart(forwards.get(definition.kind)!.deliver(id, message, revision), left))
        if (answer instanceof ActorFailed) return message.die(new Error(answer.message))
        if (answer instanceof Error) return message.fail(answer)
        if (answer !== null) return message.succeed(answer)
        yield* Effect.sleep(forwardAgainMs)
      }
      message.die(new OwnerAway({ actorId: id }))
    })

  /** What is remembered of an actor is older than what is committed: it is read anew. */
  const catchUp = (actor: LiveActor, revision: number) => {
    if (actor.busy || actor.revision >= revision) return
    const waiting = actor.mailbox.splice(0)
    drop(actor)
    activate(actor.id, actor.definition)
    redeliver(actor, waiting)
  }

  const follow = (kind: string, id: string, revision: number, listener: (state: ActorState) => void) =>
    Effect.gen(function* () {
      let known = revision
      while (true) {
        const exit = isOurs(id) ? null : yield* apart(forwards.get(kind)!.follow(id, known), Number.POSITIVE_INFINITY)
        if (exit !== null && Exit.isSuccess(exit)) {
          known = exit.value.revision
          listener(exit.value)
        } else yield* Effect.sleep(followAgainMs)
      }
    }) as Effect.Effect<never>

  const followers = new Set<{ readonly id: string; readonly moved: () => void }>()

  const ownerOf = (definition: ActorDefinition): ActorOwner => ({
    deliver: (id, message, revision) => {
      const actor = live.get(id)
      if (actor !== undefined) catchUp(actor, revision)
      deliver(definition, id, message)
    },
    follow: (id, revision, resume) => {
      const end = (outcome: Effect.Effect<ActorState, ActorError | KeyContended | ActorMoved | ActorFailed>) => {
        forget()
        resume(outcome)
      }
      const look = (state: ActorState) => {
        if (state.revision > revision) end(Effect.succeed(state))
      }
      const follower = { id, moved: () => end(Effect.fail(new ActorMoved({ actorId: id }))) }
      const forget = () => {
        followers.delete(follower)
        unlisten(id, look)
      }
      followers.add(follower)
      listen(id, look)
      deliver(definition, id, {
        ...unawaited(null, "wake", { succeed: look }),
        fail: (error) => end(Effect.fail(error)),
        die: (defect) => end(Effect.fail(new ActorFailed({ message: String(defect) }))),
        moved: follower.moved
      })
      return Effect.sync(forget)
    }
  })

  const insist = (kind: string, id: string, event: AnyEvent, delivery: Delivery) =>
    Effect.gen(function* () {
      const definition = definitionOf(kind)
      yield* begins(delivery)
      if (isOurs(id)) return yield* send(kind, id, event, delivery)
      const asked = { ...unawaited(event, delivery.cause), requestId: delivery.requestId ?? null }
      const answer = answered(yield* apart(forwards.get(kind)!.deliver(id, asked, 0), insistAfterMs))
      if (answer instanceof ActorFailed || answer instanceof KeyContended) {
        return yield* Effect.die(new Error(answer.message))
      }
      if (answer instanceof Error) return yield* answer
      if (answer !== null) return answer
      for (let attempt = 0; attempt < insistTimesMax; attempt++) {
        const row = yield* journal.load(id)
        if (row === null || row.kind !== kind) return yield* new ActorNotFound({ actorId: id })
        const actor = newActor(id, definition)
        actor.become(row)
        const at = actor.instantAt(clock.currentTimeMillisUnsafe())
        const stamped = stamp(event, at)
        const verdict = decide(definition.machine, actor.snapshot, stamped, actor.revision + 1, actor.deadlines)
        if (verdict.type !== "accepted") decline(actor, stamped, verdict, asked, at)
        if (verdict.type === "unchanged") return actor.state()
        if (verdict.type === "refused") {
          return yield* new EventRefused({
            actorId: id,
            event: event.type,
            state: actor.snapshot.value as string,
            code: verdict.code
          })
        }
        const pending = withCommands(actor, actor.pending, verdict.commands)
        const change: Change = {
          pending,
          deadlines: verdict.deadlines,
          transition: {
            snapshot: verdict.snapshot,
            record: recordOf(actor, stamped, verdict, asked, at)
          }
        }
        const outcome = yield* Effect.callback<CommitOutcome>((resume) =>
          journal.commit(recordedChange(actor, change, null), (outcome) => resume(Effect.succeed(outcome)))
        )
        if (outcome === "failed") return yield* Effect.die(new TransitionRefused({ actorId: id }))
        if (outcome === "fenced") continue
        actor.snapshot = verdict.snapshot
        actor.revision += 1
        countTransition(kind, change.transition!.record.to)
        const state = actor.state()
        tell(state)
        // The owner has something to do now, if there is one.
        fork(carry(definition, id, unawaited(null, "wake"), actor.revision))
        return state
      }
      return yield* send(kind, id, event, delivery)
    })

  /** The shard went elsewhere: what waits here goes there. */
  const leave = (actor: LiveActor) => {
    const waiting = actor.mailbox.splice(0)
    drop(actor)
    redeliver(actor, waiting)
  }

  const sendOnce = (
    kind: string,
    id: string,
    event: AnyEvent,
    delivery: Delivery,
    idempotency: IdempotencyKey | null
  ) =>
    Effect.andThen(
      begins(delivery),
      watch.patiently<ActorState, ActorError | KeyContended>((resume) => {
        deliver(definitionOf(kind), id, {
          event,
          cause: delivery.cause,
          requestId: delivery.requestId ?? null,
          done: null,
          deadline: null,
          idempotency,
          lookingSince: null,
          succeed: (state) => resume(Effect.succeed(state)),
          fail: (error) => resume(Effect.fail(error)),
          die: (defect) => resume(Effect.die(defect)),
          moved: null
        })
      })
    )

  /** Without a key there is nothing to contend for. */
  const send = (kind: string, id: string, event: AnyEvent, delivery: Delivery) =>
    sendOnce(kind, id, event, delivery, null) as Effect.Effect<ActorState, ActorError>

  const peek = (id: string): ActorState | null => {
    const actor = live.get(id)
    if (actor === undefined || actor.dropped || actor.revision === 0 || !isOurs(id)) return null
    actor.lastUsedAt = clock.currentTimeMillisUnsafe()
    return actor.state()
  }

  const awaken = (kind: string, id: string): void => {
    if (isOurs(id)) activate(id, definitionOf(kind))
  }

  // --- creation -----------------------------------------------------------------------------------------------------

  const prepare = (kind: string, actor: NewActor) => firstRevision(definitionOf(kind), actor)

  const adopt = (inserted: ActorInsert) =>
    Effect.sync(() => {
      const { row } = inserted
      countTransition(row.kind, inserted.transition.to)
      journal.tellWritten([row.accountId])
      if (live.has(row.id)) return
      const definition = definitionOf(row.kind)
      if (!isOurs(row.id)) {
        deliver(definition, row.id, unawaited(null, "wake"))
        return
      }
      // Stored long ago, told only now: a sweep may have woken it, and it may have gone on and to sleep since.
      if (clock.currentTimeMillisUnsafe() - inserted.createdAt >= options.passivateAfterMs) {
        activate(row.id, definition)
        return
      }
      const actor = newActor(row.id, definition)
      live.set(row.id, actor)
      actor.become(row)
      settleIn(actor)
    })

  const create = Effect.fnUntraced(function* (kind: string, actor: NewActor) {
    const inserted = prepare(kind, actor)
    yield* begins(actor)
    const outcome = yield* journal.insert(inserted)
    if (outcome === "failed") return yield* Effect.die(new TransitionRefused({ actorId: actor.id }))
    if (outcome === "fenced") return false
    yield* adopt(inserted)
    return true
  }, Effect.uninterruptible)

  // --- recovery and passivation -------------------------------------------------------------------------------------

  const recover = Effect.gen(function* () {
    const waiting = yield* journal.waiting(clock.currentTimeMillisUnsafe() + options.deadlineHorizonMs)
    for (const { id, kind, revision, hasPending, dueAt } of waiting) {
      if (!isOurs(id)) continue
      const definition = definitions.get(kind)
      if (definition === undefined) continue
      if (hasPending) activate(id, definition)
      const actor = live.get(id)
      if (actor === undefined) setTimer(id, kind, dueAt)
      else if (actor.revision > 0 && actor.revision < revision) catchUp(actor, revision)
      // Awake all the time, it may have a deadline that lay beyond the horizon when it was set. One that loads sees to its own.
      else if (actor.revision > 0) setTimer(id, kind, earliest(actor.deadlines))
    }
  })

  const sweep = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const actor of live.values()) {
      if (!isOwn(actor)) leave(actor)
      else if (actor.isIdle && now - actor.lastUsedAt >= options.passivateAfterMs) drop(actor)
    }
  })

  /** Shards come and go with the processes of a cluster. */
  const watchShards = Effect.gen(function* () {
    let before = ""
    while (true) {
      const now = allShards.map((shard) => (sharding.hasShardId(shard) ? "1" : "0")).join("")
      if (now !== before) {
        before = now
        yield* sweep
        for (const { id, moved } of followers) if (!isOurs(id)) moved()
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

  const register = Effect.fnUntraced(function* (definition: ActorDefinition) {
    definitions.set(definition.kind, definition)
    forwards.set(
      definition.kind,
      yield* actorEntity(definition.kind, ownerOf(definition)).pipe(
        Effect.provideService(Sharding.Sharding, sharding),
        Effect.provideService(Scope.Scope, scope)
      )
    )
  })

  // What waits here goes to the next owners, after the last transitions that were begun here.
  const lastCommits = Effect.callback<void>((resume) => {
    written = () => resume(Effect.void)
    if (writing === 0) written()
  })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      isClosing = true
      for (const actor of [...live.values()]) leave(actor)
      for (const { moved } of followers) moved()
      return writing === 0 || options.stopWithinMs === 0
        ? Effect.void
        : Effect.timeoutOption(lastCommits, options.stopWithinMs)
    })
  )

  return ActorHost.of({
    register: register as never,
    prepare,
    adopt,
    create,
    send,
    sendOnce,
    peek,
    awaken,
    recover,
    insist,
    owns: isOurs,
    follow,
    onCommit: (id, listener) =>
      Effect.acquireRelease(
        Effect.sync(() => listen(id, listener)),
        () => Effect.sync(() => unlisten(id, listener))
      ),
    size: Effect.sync(() => live.size),
    isQuiet: Effect.sync(() => [...live.values()].every((actor) => actor.isIdle))
  })
})
