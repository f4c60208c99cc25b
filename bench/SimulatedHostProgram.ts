/**
 * A host of a fleet with any number of simulated Sandboxes. All of them have one agent, which is a process of this
 * machine and isolates nothing: it runs the commands by which a service tests the host.
 */
import { spawn } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { HostHealth } from "../src/app/HostHealth.ts"
import { launch } from "../src/app/Launch.ts"
import { Settings } from "../src/Config.ts"
import { HostFolder } from "../src/host/HostFolder.ts"
import { HostIngress } from "../src/host/ingress/HostIngress.ts"
import { Joining } from "../src/host/ingress/Joining.ts"
import { OwnHost } from "../src/host/ingress/OwnHost.ts"
import { connectUnixSoon } from "../src/host/linux/unixSocket.ts"
import { simulatedRuntime } from "../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../src/host/simulated/SimulatedWorld.ts"
import { PeerSocketsLive } from "../src/peer/PeerSocketsLive.ts"
import { agentBundle } from "../src/runtime/agentClient/agentBundle.ts"
import { GuestUnavailable } from "../src/runtime/Guest.ts"
import { Runtime } from "../src/runtime/Runtime.ts"

/** Where it listens. */
const agent = Effect.fnUntraced(function* (folder: string) {
  const socket = join(folder, "agent.sock")
  const [program] = yield* Effect.promise(() =>
    Promise.all([agentBundle(folder), mkdir(join(folder, "run"), { recursive: true })])
  )
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [program], {
        cwd: folder,
        env: {
          ...process.env,
          ATOLL_AGENT_LISTEN: `unix:${socket}`,
          ATOLL_AGENT_GENERATION: "1",
          ATOLL_AGENT_RUN_DIR: join(folder, "run"),
          ATOLL_AGENT_WORKSPACE: folder
        },
        stdio: ["ignore", "ignore", "inherit"]
      })
    ),
    (child) => Effect.sync(() => void child.kill())
  )
  return socket
})

const runtime = Layer.effect(
  Runtime,
  Effect.gen(function* () {
    const { dataDir } = yield* Settings
    const world = yield* SimulatedWorld.make
    const socket = yield* agent(join(dataDir, "simulated"))
    return {
      ...simulatedRuntime(world),
      connect: () =>
        Effect.acquireRelease(
          Effect.tryPromise({
            try: () => connectUnixSoon(socket, { timeoutMs: 10_000, stillWorth: () => true }),
            catch: (cause) => new GuestUnavailable({ message: String(cause) })
          }),
          (connection) => Effect.sync(() => void connection.destroy())
        )
    }
  })
)

launch(
  HostHealth.layer.pipe(
    Layer.provideMerge(Joining.layer),
    Layer.provide(HostIngress.layer),
    Layer.provide(OwnHost.layer),
    Layer.provide(runtime),
    Layer.provide(PeerSocketsLive.layer),
    Layer.provide(HostFolder.layer)
  )
)
