/**
 * Runs the commands of live actors, each in its own fiber, until it has a result or a newer command supersedes it.
 *
 * At-least-once: a command that the process's end interrupts runs again when the actor is loaded. Commands of one lane of one actor exclude
 * each other: a command starts when every earlier one has ended, including its finalizers.
 */
import { Cause, Effect, Exit, Fiber, Schedule, type Tracer } from "effect"
import type { SqlError } from "effect/sql"
import { spanOf, within } from "../platform/trace/Tracing.ts"
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"
import type { AnyEvent } from "./ActorDefinition.ts"
import type { LiveActor } from "./LiveActor.ts"
import { type Message, unawaited } from "./Message.ts"

const tryAgain = Schedule.min([Schedule.exponential(100), Schedule.spaced(30_000)])

/** The span of a command and its result; null: no trace. */
interface Trace {
  span: Tracer.AnySpan | null
}

/** A command unknown to this version has no lane. */
const laneOf = (actor: LiveActor, command: PendingCommand): string | null =>
  actor.definition.commands[command.type]?.lane ?? null

export class CommandRunner {
  readonly #fork: (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown, unknown>
  readonly #databaseFault: (error: SqlError.SqlError) => Effect.Effect<void>
  readonly #enqueue: (actor: LiveActor, message: Message) => void
  readonly #isTraced: boolean
  /**
   * By actor and lane: the fibers that have not ended, including interrupted ones. They are not stored in the live actor: a reloaded
   * actor must wait for the fibers of its predecessor.
   */
  readonly #lanes = new Map<string, Set<Fiber.Fiber<unknown, unknown>>>()

  constructor(
    fork: (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown, unknown>,
    databaseFault: (error: SqlError.SqlError) => Effect.Effect<void>,
    enqueue: (actor: LiveActor, message: Message) => void,
    isTraced: boolean
  ) {
    this.#fork = fork
    this.#databaseFault = databaseFault
    this.#enqueue = enqueue
    this.#isTraced = isTraced
  }

  /**
   * Starts a command that does not run yet, after it has ended the commands of its lane. The result arrives as a message.
   *
   * @param span The span of its cause.
   */
  start(actor: LiveActor, command: PendingCommand, span: Tracer.AnySpan | null): void {
    // The actor left during the commit: its next owner runs the command.
    if (actor.dropped || actor.running.has(command.key)) return
    const lane = laneOf(actor, command)
    const laneKey = `${actor.id} ${lane}`
    const before = lane === null ? [] : [...(this.#lanes.get(laneKey) ?? [])]
    if (lane !== null) {
      for (const [key, other] of actor.running) if (other.lane === lane) actor.running.delete(key)
    }
    const trace: Trace = { span }
    const work = Effect.yieldNow.pipe(
      Effect.andThen(Fiber.interruptAll(before)),
      Effect.andThen(within(this.#interpret(actor, command, trace), span))
    )
    const fiber = this.#fork(
      Effect.onExit(work, (exit) =>
        Effect.sync(() => {
          if (actor.running.get(command.key)?.fiber === fiber) actor.running.delete(command.key)
          if (Exit.isSuccess(exit) && !actor.dropped) {
            this.#enqueue(actor, unawaited(exit.value, "command", { done: command.key, span: trace.span }))
          }
        })
      )
    )
    actor.running.set(command.key, { lane, fiber })
    if (lane !== null) this.#enter(laneKey, fiber)
  }

  #enter(laneKey: string, fiber: Fiber.Fiber<unknown, unknown>) {
    const fibers = this.#lanes.get(laneKey) ?? new Set()
    this.#lanes.set(laneKey, fibers.add(fiber))
    fiber.addObserver(() => {
      fibers.delete(fiber)
      if (fibers.size === 0 && this.#lanes.get(laneKey) === fibers) this.#lanes.delete(laneKey)
    })
  }

  /** After a commit: ends commands that are no longer pending, and starts the new ones. */
  follow(
    actor: LiveActor,
    pending: ReadonlyArray<PendingCommand>,
    commands: ReadonlyArray<PendingCommand>,
    span: Tracer.AnySpan | null
  ): void {
    const isWanted = (key: string) => [...pending, ...commands].some((command) => command.key === key)
    const unwanted = [...actor.running.keys()].filter((key) => !isWanted(key))
    for (const command of commands) this.start(actor, command, span)
    for (const key of unwanted) {
      const left = actor.running.get(key)
      if (left === undefined) continue
      actor.running.delete(key)
      this.#fork(Fiber.interrupt(left.fiber))
    }
  }

  /** The actor leaves this process's memory. */
  endAll(actor: LiveActor): void {
    for (const { fiber } of actor.running.values()) this.#fork(Fiber.interrupt(fiber))
    actor.running.clear()
  }

  #interpret(actor: LiveActor, command: PendingCommand, trace: Trace): Effect.Effect<AnyEvent | null> {
    const scope = {
      key: command.key,
      state: () => actor.state(),
      tell: (event: AnyEvent) =>
        Effect.sync(() => this.#enqueue(actor, unawaited(event, "command", { span: trace.span })))
    }
    const begin = (): Effect.Effect<AnyEvent | null> => {
      const handler = actor.definition.commands[command.type]
      return handler === undefined
        ? Effect.die(new Error(`Actors of the kind "${actor.definition.kind}" have no command ${command.type}.`))
        : handler.run(scope, command.params)
    }
    const interpreted = this.#isTraced
      ? Effect.withFiber<AnyEvent | null>((fiber) => {
          trace.span = spanOf(fiber)
          return begin()
        })
      : Effect.suspend(begin)
    return interpreted.pipe(
      // Does not see an interruption of this fiber. An interruption from inside the interpreter is a failure like any other.
      Effect.tapCause((cause) => {
        const fault = Cause.squash(cause)
        return isDatabaseFault(fault)
          ? this.#databaseFault(fault)
          : Effect.logError(`Command ${command.type} of ${actor.id} failed and will be retried`, cause)
      }),
      Effect.sandbox,
      Effect.retry(tryAgain),
      Effect.catch((cause) => Effect.failCause(cause)),
      Effect.withSpan("ActorHost.command", { attributes: { actor: actor.id, command: command.type } })
    )
  }
}

/** The pending commands after a transition: a newer command of a lane replaces earlier ones. */
export const withCommands = (
  actor: LiveActor,
  pending: ReadonlyArray<PendingCommand>,
  commands: ReadonlyArray<PendingCommand>
): ReadonlyArray<PendingCommand> => {
  if (commands.length === 0) return pending
  const lanes = new Set(commands.map((command) => laneOf(actor, command)).filter((lane) => lane !== null))
  const kept = lanes.size === 0 ? pending : pending.filter((command) => !lanes.has(laneOf(actor, command) ?? ""))
  return [...kept, ...commands]
}
