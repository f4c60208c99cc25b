/** The whole service below HTTP on the namespace driver: for tests with real programs inside. */
import { Layer } from "effect"
import { Atoll } from "../../src/app/Atoll.ts"
import { ActorCluster } from "../../src/engine/ActorCluster.ts"
import { freshDriver } from "./host/namespace/TestHost.ts"
import { testSettings } from "./TestSettings.ts"

const small = {
  ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2)
}

export const namespaceAtoll = (environment: Readonly<Record<string, string>> = {}) =>
  Atoll.layer({ sweepIntervalMs: 1000 }).pipe(
    Layer.provideMerge(freshDriver({ ...small, ...environment })),
    Layer.provide(ActorCluster.layerSingle),
    Layer.provide(testSettings({ ...small, ...environment }))
  )
