/**
 * Whether the database serves: asked once a second on a connection of its own, and told by every statement that met a fault of it.
 *
 * An outage is logged when it begins and when it ends, not once a request. A server that is silent (frozen, or cut off) sends no error, so
 * whatever waits for it is given up here: statements by their sockets, callers by their patience.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber } from "effect"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { waitingFor } from "../worker/Worker.ts"
import { isTransient, reasonOf, untilServed, wasAnswered } from "./DatabaseFault.ts"
import { Outage as DatabaseOutages } from "./DatabaseOutage.ts"
import type { DatabaseSockets } from "./DatabaseSockets.ts"
import { Gathering, type Member } from "./Gathering.ts"

const lookEveryMs = 1000
/** Patience is counted in these, not in time: a process that was itself held up has not waited. */
const stepMs = 250
/** Who asks whether the database serves is not told yes while it has owed an answer for so long. */
const lateAfterMs = 1000
/** An outage is over when the database served for so long without a fault. */
const overAfterMs = 2000
/** What failed in an outage is reported for so long after its end. */
const reportedWithinMs = 15_000

/** What a caller is told whose patience ended. The work itself may still be done. */
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
    /** The database answered when it was last asked, and takes changes. */
    readonly serves: () => boolean
    /** A statement met a fault of the database. Logged if it is the first of an outage. */
    readonly fault: (error: SqlError) => Effect.Effect<void>
    /** Repeats it, for as long as it takes, while it meets a fault of the database. Fails with what no repetition mends. */
    readonly untilServed: <A, R>(statement: Effect.Effect<A, SqlError, R>) => Effect.Effect<A, SqlError, R>
    /**
     * As `Effect.callback`, for what somebody else does as soon as the database serves. Dies with a transient SqlError when an outage has
     * lasted for longer than a caller should wait; `resume` may be called all the same, and does nothing then.
     */
    readonly patiently: <A, E>(
      register: (resume: (outcome: Effect.Effect<A, E>) => void) => void
    ) => Effect.Effect<A, E>
  }
>()("atoll/store/DatabaseWatch") {}

/**
 * The watch, and the loop that looks, which ends when it is interrupted.
 *
 * @param probe Fails while the database does not serve.
 * @param patienceMs Silent for so long, the server counts as one that does not serve; and so long a caller waits in an outage for what will
 *   be done anyway, or may be asked again.
 */
export const databaseWatch = (probe: Effect.Effect<unknown, SqlError>, sockets: DatabaseSockets, patienceMs: number) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<never>()
    const callers = new Gathering<Caller>()
    /** Of a clock that nobody sets: an hour back would be an hour of patience. */
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
        return Effect.logWarning(`The database does not serve: ${reasonOf(error)}. What is to be stored waits for it.`)
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
        // It began in the outage that is over.
        if (outage === null && lasts()) return
        Effect.runForkWith(context)(fault(error))
      }
    })

    /** Since it was asked. */
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
