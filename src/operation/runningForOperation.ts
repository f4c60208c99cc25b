/** The running Sandbox of a new command; a sleeping one wakes. Refuses without credit. */
import { Effect } from "effect"
import { requireCredit } from "../account/Credit.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { runningSandbox, unavailableUnlessRunning } from "../sandbox/RunningSandbox.ts"
import { Actors } from "../store/Actors.ts"
import { Journal } from "../store/Journal.ts"

export const runningForOperation = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const journal = yield* Journal
  const settings = yield* Settings

  const findRunning = (accountId: string, sandboxId: string, exhaustedAt: number | null) =>
    runningSandbox(accountId, sandboxId, requireCredit(exhaustedAt)).pipe(
      Effect.provideService(ActorHost, host),
      Effect.provideService(Actors, actors),
      Effect.provideService(Journal, journal),
      Effect.provideService(Settings, settings),
      unavailableUnlessRunning
    )
  return findRunning
})
