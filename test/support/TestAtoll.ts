/** The whole service below HTTP on a fresh database and a simulated world. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Atoll } from "../../src/app/Atoll.ts"
import { ActorCluster } from "../../src/engine/ActorCluster.ts"
import { layerWorld } from "../../src/host/simulated/SimulatedRuntime.ts"
import type { SimulatedWorld } from "../../src/host/simulated/SimulatedWorld.ts"
import { newId } from "../../src/platform/identifier/newId.ts"
import { testSettings } from "./TestSettings.ts"

/** One run of the service; closing its scope is a crash, building it again a restart. */
export const testAtoll = (world: SimulatedWorld, environment: Readonly<Record<string, string>> = {}) =>
  Atoll.layer({ sweepIntervalMs: 200 }).pipe(
    Layer.provide(layerWorld(world)),
    Layer.provide(ActorCluster.layerSingle),
    Layer.provide(testSettings(environment))
  )

/** An account with one workspace. */
export const newAccount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const accountId = newId("acc_")
  const workspaceId = newId("wsp_")
  yield* sql`insert into accounts (id, name, created_at) values (${accountId}, ${accountId}, ${BigInt(Date.now())})`
  yield* sql`insert into workspaces (id, account_id, name, created_at) values (${workspaceId}, ${accountId}, 'test', ${BigInt(Date.now())})`
  return { accountId, workspaceId }
})
