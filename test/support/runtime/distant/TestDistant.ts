/** A driver behind a host's ingress on a port of this machine, and a service's runtime over it, in one process. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Logger } from "effect"
import { serveHost } from "../../../../src/host/ingress/serveHost.ts"
import { type PeerAddress, PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import { PeerSocketsLive } from "../../../../src/peer/PeerSocketsLive.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import type { HostDescription } from "../../../../src/runtime/distant/HostDescription.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { testSettings } from "../../TestSettings.ts"

export const hostId = `host_${"a".repeat(24)}`

/** With a new secret. */
export const peers = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const folder = mkdtempSync(join(tmpdir(), "atoll-peers-"))
        writeFileSync(join(folder, "secret"), `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 })
        return folder
      }),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ),
    (folder) =>
      Layer.fresh(PeerSocketsLive.layer).pipe(
        Layer.provide([testSettings({ ATOLL_FLEET_SECRET_FILE: join(folder, "secret") }), Logger.layer([])])
      )
  )
)

export const describedBy = (runtime: Runtime["Service"], changes: Partial<HostDescription> = {}): HostDescription => ({
  hostId,
  label: "a test's",
  address: { host: "127.0.0.1", port: 1 },
  installation: null,
  boot: "boot",
  version: "0.0.0",
  driver: runtime.driver,
  kind: runtime.kind,
  capacity: { vcpus: 8, memoryBytes: 8e9, diskBytes: 8e9, parallelStarts: 2 },
  suspends: runtime.capabilities.suspend,
  takesSnapshots: true,
  restoresSnapshots: true,
  movesSnapshots: true,
  runsImages: true,
  buildsImages: true,
  movesImages: true,
  keepsMemory: runtime.capabilities.memorySnapshots,
  networkFiltered: runtime.capabilities.networkFiltered,
  networkRefused: runtime.capabilities.networkRefused(),
  ...changes
})

/** Serves a runtime for as long as the scope lasts; returns its address. */
export const served = Effect.fnUntraced(function* (runtime: Runtime["Service"], port = 0) {
  const sockets = yield* PeerSockets
  const doors = yield* serveHost({ runtime, hostId, describe: Effect.sync(() => describedBy(runtime)) })
  const at = yield* sockets.listen({ host: "127.0.0.1", port }, doors)
  return { host: "127.0.0.1", port: at.port } satisfies PeerAddress
})

/** The distant runtime of a near one. */
export const distantOf = <E>(near: Layer.Layer<Runtime, E>) =>
  Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const runtime = Context.get(yield* Layer.build(near), Runtime)
      return yield* distantRuntime(hostId, yield* served(runtime))
    })
  ).pipe(Layer.provide(peers))
