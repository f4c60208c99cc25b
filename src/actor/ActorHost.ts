/**
 * The host of all actors: one mailbox each, one transition at a time, committed before anyone sees it.
 *
 * Effect Cluster decides which process owns an actor (its shard) and carries messages there. Within the owner a message takes a
 * short way: a cluster message costs about 35 µs, more than the transition itself, so an owned actor's mailbox is a plain array here.
 * A lost shard is noticed before each message and by a sweep; until then the journal's revision check fences the old owner.
 *
 * @source design.md "The actor"; ARCHITECTURE.md "Departures"
 */
import { Cause, Clock, Context, Effect, FiberSet, Layer, Metric, Scope } from "effect"
import { EntityId, type ShardId, Sharding } from "effect/cluster"
import { Journal } from "../store/Journal.ts"
import type { ActorInsert, CommitOutcome, PendingCommand } from "../store/JournalRecord.ts"
import type { ActorDefinition, ActorState, AnyEvent } from "./ActorDefinition.ts"
import { type ActorForward, actorEntity, forwardTo } from "./ActorEntity.ts"
import { type ActorError, ActorNotFound, EventRefused, MailboxFull } from "./ActorError.ts"
import { CommandRunner, withCommands } from "./CommandRunner.ts"
import { DeadlineTimers } from "./DeadlineTimers.ts"
import { LiveActor } from "./LiveActor.ts"
import { type Message, unawaited } from "./Message.ts"
import { firstRevision, type NewActor } from "./NewActor.ts"
import { decide, earliest, store } from "./Transition.ts"

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
}

export const defaultOptions: ActorHostOptions = {
  mailboxMax: 10_000,
  passivateAfterMs: 60_000,
  sweepIntervalMs: 5_000,
  deadlineHorizonMs: 60_000
}

const attemptsMax = 5

const transitionsTotal = Metric.counter("atoll_transitions_total", {
  description: "Committed transitions.",
  incremental: true
})
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
  const sharding = yield* Sharding.Sharding
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const fork = yield* FiberSet.makeRuntime()
  const definitions = new Map<string, ActorDefinition>()
  const forwards = new Map<string, ActorForward>()
  const live = new Map<string, LiveActor>()
  const timers = new DeadlineTimers(clock, fork, options.deadlineHorizonMs)
  const commands = new CommandRunner(fork, (actor, message) => enqueue(actor, message))
  const listeners = new Map<string, Set<(state: ActorState) => void>>()
  const metricContext = Context.empty()

  const definitionOf = (kind: string) => {
    const definition = definitions.get(kind)
    if (definition === undefined) throw new Error(`No actor kind "${kind}" is registered.`)
    return definition
  }

  const shardOf = (id: string): ShardId.ShardId => sharding.getShardId(EntityId.make(id), "default")
  const isOurs = (id: string) => sharding.hasShardId(shardOf(id))

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
    const actor = new LiveActor(id, definition, clock.currentTimeMillisUnsafe())
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
          actor.become(row)
          settleIn(actor)
        }
      })
    )
    return actor
  }

  /** An actor that was loaded or just created: its commands run again, its deadline is watched, its mailbox opens. */
  const settleIn = (actor: LiveActor) => {
    actor.busy = false
    for (const command of actor.pending) commands.start(actor, command)
    setTimer(actor.id, actor.definition.kind, earliest(actor.deadlines))
    pump(actor)
  }

  const drop = (actor: LiveActor) => {
    actor.dropped = true
    if (live.get(actor.id) === actor) live.delete(actor.id)
    commands.endAll(actor)
  }

  const enqueue = (actor: LiveActor, message: Message) => {
    if (actor.dropped) return redeliver(actor, [message])
    if (actor.mailbox.length >= options.mailboxMax) return message.fail(new MailboxFull({ actorId: actor.id }))
    actor.mailbox.push(message)
    if (!actor.busy) pump(actor)
  }

  /** The actor moved or its revision did: whoever owns it now decides about these messages. */
  const redeliver = (actor: LiveActor, messages: ReadonlyArray<Message>) => {
    for (const message of messages) {
      if (message.done !== null || message.event === null) continue // the new owner does pending commands itself
      if (message.attempts >= attemptsMax) {
        message.die(new Error(`Actor ${actor.id} found no owner in ${attemptsMax} attempts.`))
        continue
      }
      deliver(actor.definition, actor.id, { ...message, attempts: message.attempts + 1 })
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
    const event = message.event === null ? null : { ...message.event, at: now }
    let verdict: ReturnType<typeof decide>
    try {
      verdict =
        event === null ? { type: "unchanged" } : decide(machine, actor.snapshot, event, actor.revision + 1, deadlines)
    } catch (defect) {
      return message.die(defect)
    }
    if (verdict.type !== "accepted") {
      const answer = () => {
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
      if (pending === actor.pending && deadlines === actor.deadlines) return answer()
      if (pending.length === actor.pending.length && deadlines === actor.deadlines) return answer()
      return commit(actor, message, { pending, deadlines, transition: null }, answer)
    }
    const { snapshot } = verdict
    const nextPending = withCommands(actor, pending, verdict.commands)
    commit(
      actor,
      message,
      {
        pending: nextPending,
        deadlines: verdict.deadlines,
        transition: {
          snapshot,
          record: {
            at: now,
            event,
            from: actor.snapshot.value as string,
            to: snapshot.value as string,
            commands: verdict.commands,
            cause: message.cause,
            requestId: message.requestId
          }
        }
      },
      () => {
        const state = actor.state()
        message.succeed(state)
        for (const listener of listeners.get(actor.id) ?? []) listener(state)
        commands.follow(actor, nextPending, verdict.commands)
      }
    )
  }

  interface Change {
    readonly pending: ReadonlyArray<PendingCommand>
    readonly deadlines: LiveActor["deadlines"]
    readonly transition: {
      readonly snapshot: LiveActor["snapshot"]
      readonly record: NonNullable<Parameters<typeof journal.commit>[0]["transition"]>
    } | null
  }

  const commit = (actor: LiveActor, message: Message, change: Change, committed: () => void) => {
    actor.busy = true
    const snapshot = change.transition?.snapshot ?? actor.snapshot
    const dueAt = earliest(change.deadlines)
    journal.commit(
      {
        actorId: actor.id,
        revision: change.transition === null ? actor.revision : actor.revision + 1,
        snapshot: store(snapshot),
        pending: change.pending === actor.pending ? null : change.pending,
        deadlines: change.deadlines === actor.deadlines ? null : change.deadlines,
        dueAt,
        transition: change.transition?.record ?? null
      },
      (outcome: CommitOutcome) => {
        if (outcome !== "committed") {
          const waiting = actor.mailbox.splice(0)
          drop(actor)
          if (outcome === "failed") message.die(new Error(`The database refused a transition of ${actor.id}.`))
          else redeliver(actor, [message])
          return redeliver(actor, waiting)
        }
        actor.snapshot = snapshot
        actor.pending = change.pending
        if (change.deadlines !== actor.deadlines) {
          actor.deadlines = change.deadlines
          setTimer(actor.id, actor.definition.kind, dueAt)
        }
        if (change.transition !== null) {
          actor.revision += 1
          transitionsTotal.updateUnsafe(1, metricContext)
        }
        committed()
        actor.busy = false
        pump(actor)
      }
    )
  }

  const deliver = (definition: ActorDefinition, id: string, message: Message) => {
    if (isOurs(id)) {
      const actor = live.get(id)
      return enqueue(actor !== undefined && !actor.dropped ? actor : activate(id, definition), message)
    }
    const stale = live.get(id)
    if (stale !== undefined) leave(stale)
    fork(
      forwardTo(forwards.get(definition.kind)!, id, message).pipe(
        Effect.matchCause({
          onFailure: (cause) => {
            const error = Cause.squash(cause)
            if (error instanceof EventRefused || error instanceof ActorNotFound || error instanceof MailboxFull)
              message.fail(error)
            else message.die(error)
          },
          onSuccess: (state) => message.succeed(state)
        })
      )
    )
  }

  /** The shard went elsewhere: what waits here goes there. */
  const leave = (actor: LiveActor) => {
    const waiting = actor.mailbox.splice(0)
    drop(actor)
    redeliver(actor, waiting)
  }

  const send = (kind: string, id: string, event: AnyEvent, delivery: Delivery) =>
    Effect.callback<ActorState, ActorError>((resume) => {
      deliver(definitionOf(kind), id, {
        event,
        cause: delivery.cause,
        requestId: delivery.requestId ?? null,
        done: null,
        deadline: null,
        attempts: 0,
        succeed: (state) => resume(Effect.succeed(state)),
        fail: (error) => resume(Effect.fail(error)),
        die: (defect) => resume(Effect.die(defect))
      })
    })

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
      const actor = new LiveActor(row.id, definition, clock.currentTimeMillisUnsafe())
      live.set(row.id, actor)
      actor.become(row)
      settleIn(actor)
    })

  const create = Effect.fnUntraced(function* (kind: string, actor: NewActor) {
    const inserted = prepare(kind, actor)
    const outcome = yield* journal.insert(inserted)
    if (outcome === "failed") return yield* Effect.die(new Error(`The database refused the new actor ${actor.id}.`))
    if (outcome === "fenced") return false
    transitionsTotal.updateUnsafe(1, metricContext)
    yield* adopt(inserted)
    return true
  }, Effect.uninterruptible)

  // --- recovery and passivation -------------------------------------------------------------------------------------

  const recover = Effect.gen(function* () {
    const waiting = yield* journal.waiting(clock.currentTimeMillisUnsafe() + options.deadlineHorizonMs)
    for (const { id, kind, hasPending, dueAt } of waiting) {
      if (!isOurs(id)) continue
      const definition = definitions.get(kind)
      if (definition === undefined) continue
      if (hasPending) activate(id, definition)
      const actor = live.get(id)
      if (actor === undefined) setTimer(id, kind, dueAt)
      // Awake all the time, it may have a deadline that lay beyond the horizon when it was set. One that loads sees to its own.
      else if (actor.revision > 0) setTimer(id, kind, earliest(actor.deadlines))
    }
  })

  const sweep = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    for (const actor of live.values()) {
      if (!isOurs(actor.id)) leave(actor)
      else if (actor.isIdle && now - actor.lastUsedAt >= options.passivateAfterMs) drop(actor)
    }
    liveActors.updateUnsafe(live.size, metricContext)
  })

  yield* Effect.forkScoped(Effect.andThen(sweep, recover).pipe(Effect.delay(options.sweepIntervalMs), Effect.forever))

  const register = Effect.fnUntraced(function* (definition: ActorDefinition) {
    definitions.set(definition.kind, definition)
    forwards.set(
      definition.kind,
      yield* actorEntity(definition.kind, (id, message) => {
        deliver(definition, id, message)
      }).pipe(Effect.provideService(Sharding.Sharding, sharding), Effect.provideService(Scope.Scope, scope))
    )
  })

  return ActorHost.of({
    register: register as never,
    prepare,
    adopt,
    create,
    send,
    peek,
    awaken,
    recover,
    onCommit: (id, listener) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const set = listeners.get(id) ?? new Set()
          set.add(listener)
          listeners.set(id, set)
        }),
        () =>
          Effect.sync(() => {
            const set = listeners.get(id)
            set?.delete(listener)
            if (set?.size === 0) listeners.delete(id)
          })
      ),
    size: Effect.sync(() => live.size),
    isQuiet: Effect.sync(() => [...live.values()].every((actor) => actor.isIdle))
  })
})
