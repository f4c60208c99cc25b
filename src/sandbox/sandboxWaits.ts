/** Waits for a Sandbox: for one of some states, for the result of a start, and until its dependents have heard of its end. */
import { Effect, Schedule } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { Shutdown } from "../platform/shutdown/Shutdown.ts"
import { Journal } from "../store/Journal.ts"
import { sandboxView } from "./SandboxView.ts"
import { notStartingStates } from "./sandboxStates.ts"

const dependentsAnswerMs = 2_000
const dependentsAskEveryMs = 5

export const sandboxWaits = Effect.gen(function* () {
  const host = yield* ActorHost
  const journal = yield* Journal
  const shutdown = yield* Shutdown

  /** Answers with the state that it has after `timeoutMs`. */
  const until = (id: string, states: ReadonlyArray<string>, timeoutMs: number): Effect.Effect<Sandbox> =>
    awaitState(sandboxMachine, id, (state) => states.includes(state.value), timeoutMs).pipe(
      Effect.provideService(ActorHost, host),
      Effect.provideService(Journal, journal),
      Effect.map((state) => sandboxView(state!.value, state!.context))
    )

  return {
    until,
    /** Waits until a start has succeeded or failed; a service that stops answers with the present state. */
    untilStarted: (id: string, timeoutMs: number): Effect.Effect<Sandbox> =>
      Effect.raceFirst(
        until(id, notStartingStates, timeoutMs),
        Effect.andThen(shutdown.begun, until(id, notStartingStates, 0))
      ),
    /** Waits until all dependents of the Sandbox were told of its end, so that a caller sees the end everywhere. */
    untilDependentsHeard: (id: string) =>
      journal.load(id).pipe(
        Effect.repeat({
          schedule: Schedule.spaced(dependentsAskEveryMs),
          until: (row) => row === null || !row.pending.some(({ type }) => type === "closeDependents")
        }),
        Effect.timeoutOption(dependentsAnswerMs)
      )
  }
})
