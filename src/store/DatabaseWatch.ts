/**
 * Watches whether the database serves: one probe a second on a separate connection, and reports of faults from all statements.
 *
 * The log has one line at the beginning and one at the end of an outage, not one for each request. A silent server (frozen or cut off) sends no
 * error, so waits end here: statements by closing their sockets, callers by a time limit.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber } from "effect"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { waitingFor } from "../platform/worker/Worker.ts"
import { isTransient, reasonOf, untilServed, wasAnswered } from "./DatabaseFault.ts"
import { Outage as DatabaseOutages } from "./DatabaseOutage.ts"
import type { DatabaseSockets } from "./DatabaseSockets.ts"
import { Gathering, type Member } from "./Gathering.ts"

const lookEveryMs = 1000
/** Time limits are counted in these steps, not in time: a process that was frozen itself has not waited. */
const stepMs = 250
/** `serves` is false while the probe has been unanswered for so long. */
const lateAfterMs = 1000
/** An outage ends when the database has served for so long without a fault. */
const overAfterMs = 2000
/** Failures of an outage may be reported for so long after its end. */
const reportedWithinMs = 15_000

/** The error of a caller whose time limit passed. The work itself may still be done. */
const unserved = (): SqlError =>
  new SqlError({
    reason: new ConnectionError({ cause: new Error("the database does not serve"), operation: "wait" })
  })

interface Caller extends Member {
  readonly since: number
  readonly giveUp: () => void
}

interface Outage {
  readonly since: number
  lastFaultAt: number
  faults: number
}

export class DatabaseWatch extends Context.Service<
  DatabaseWatch,
  {
    /** True if the database answered the last probe and accepts writes. */
    readonly serves: () => boolean
    /** Reports a fault of the database. Logs the first of an outage. */
    readonly fault: (error: SqlError) => Effect.Effect<void>
    /** Repeats the statement, without end, while it meets a fault of the database. Fails with an error that no retry mends. */
    readonly untilServed: <A, R>(statement: Effect.Effect<A, SqlError, R>) => Effect.Effect<A, SqlError, R>
    /**
     * `Effect.callback` with a time limit, for work that proceeds once the database serves. Dies with a transient SqlError when an outage
     * outlasts the limit; a later call of `resume` does nothing.
     */
    readonly patiently: <A, E>(
      register: (resume: (outcome: Effect.Effect<A, E>) => void) => void
    ) => Effect.Effect<A, E>
  }
>()("atoll/store/DatabaseWatch") {}

/**
 * The watch, and its loops, which end by interruption.
 *
 * @param probe Fails while the database does not serve.
 * @param patienceMs The time limit: a server silent for so long counts as unavailable, and a caller waits so long in an outage for work that
 *   will be done anyway or may be asked again.
 */
export const databaseWatch = (probe: Effect.Effect<unknown, SqlError>, sockets: DatabaseSockets, patienceMs: number) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<never>()
    const callers = new Gathering<Caller>()
    /** Monotonic: if the wall clock went back an hour, a wait would last an hour longer. */
    const elapsedMs = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    let answers = true
    let outage: Outage | null = null
    let overAt = Number.NEGATIVE_INFINITY

    const fault = (error: SqlError): Effect.Effect<void> =>
      Effect.suspend(() => {
        const now = elapsedMs()
        if (outage !== null) {
          outage.faults++
          outage.lastFaultAt = now
          return Effect.void
        }
        outage = { since: now, lastFaultAt: now, faults: 1 }
        return Effect.logWarning(`The database does not serve: ${reasonOf(error)}. Writes wait until it is back.`)
      })

    const served: Effect.Effect<void> = Effect.suspend(() => {
      const now = elapsedMs()
      if (outage === null || now - outage.lastFaultAt < overAfterMs) return Effect.void
      const { since, faults } = outage
      outage = null
      overAt = now
      return Effect.log(
        `The database serves again, ${Math.round((now - since) / 1000)} s after the first of ${faults} statements that it did not serve.`
      )
    })

    const lasts = () => outage !== null || elapsedMs() - overAt < reportedWithinMs
    const told = yield* DatabaseOutages
    told.follow({
      lasts,
      met: (error) => {
        // A late failure of an outage that is over.
        if (outage === null && lasts()) return
        Effect.runForkWith(context)(fault(error))
      }
    })

    /** Steps since the probe was sent. */
    let owedSteps = 0
    const silentSteps = Math.max(1, Math.ceil(patienceMs / stepMs))

    const silence = Effect.sleep(stepMs).pipe(
      Effect.andThen(
        Effect.sync(() => {
          owedSteps++
          if (owedSteps % silentSteps === 0) sockets.silent()
        })
      ),
      Effect.forever
    )

    const look = Effect.gen(function* () {
      const impatient = yield* Effect.forkChild(silence)
      const exit = yield* Effect.exit(probe)
      yield* Fiber.interrupt(impatient)
      owedSteps = 0
      answers = Exit.isSuccess(exit)
      if (Exit.isSuccess(exit)) {
        sockets.answered()
        return yield* served
      }
      const error = Cause.squash(exit.cause)
      if (!(error instanceof SqlError)) return yield* Effect.failCause(exit.cause)
      if (wasAnswered(error)) sockets.answered()
      yield* fault(error)
    })

    const endPatience = Effect.sync(() => {
      sockets.look()
      if (outage === null) return
      const before = elapsedMs() - patienceMs
      if (outage.since > before) return
      for (const caller of callers.all()) {
        if (caller.since > before) continue
        callers.delete(caller)
        caller.giveUp()
      }
    })

    const watch: DatabaseWatch["Service"] = {
      serves: () => answers && owedSteps * stepMs < lateAfterMs,
      fault,
      untilServed: (statement) =>
        Effect.catchIf(statement, isTransient, (error) => {
          const again = Effect.tapError(statement, (next) => (isTransient(next) ? fault(next) : Effect.void))
          const served = Effect.andThen(Effect.sleep(untilServed.firstAfterMs), Effect.retry(again, untilServed))
          return Effect.andThen(fault(error), waitingFor("the database to serve", served))
        }),
      patiently: <A, E>(register: (resume: (outcome: Effect.Effect<A, E>) => void) => void) =>
        Effect.callback<A, E>((resume) => {
          const since = elapsedMs()
          const caller: Caller = { place: -1, since, giveUp: () => resume(Effect.die(unserved())) }
          callers.add(caller)
          register((outcome) => {
            callers.delete(caller)
            resume(outcome)
          })
          return Effect.sync(() => void callers.delete(caller))
        })
    }
    return {
      watch,
      loops: {
        look: Effect.forever(Effect.andThen(look, Effect.sleep(lookEveryMs))),
        patience: Effect.forever(Effect.andThen(Effect.sleep(lookEveryMs), endPatience))
      }
    }
  })
