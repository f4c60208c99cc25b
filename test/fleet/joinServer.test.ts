/** Where hosts join: what is known of each by its certificate. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HostJoins } from "../../src/fleet/HostJoins.ts"
import { JoinServer } from "../../src/fleet/JoinServer.ts"
import { simulatedRuntime } from "../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../src/host/simulated/SimulatedWorld.ts"
import { connectPeerRpcs } from "../../src/peer/PeerRpc.ts"
import { PeerSockets } from "../../src/peer/PeerSockets.ts"
import { JoinRpcs } from "../../src/runtime/distant/JoinRpcs.ts"
import { loopback, peer } from "../peer/TestPeers.ts"
import { describedBy } from "../runtime/distant/TestDistant.ts"
import { authority } from "../support/authority.ts"
import { testSettings } from "../support/TestSettings.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-join-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ours = authority(folder, "ours")
const signed = (of: string, names: string, role: "service" | "host") => {
  const { certFile, keyFile } = ours.sign(of, names)
  return {
    ATOLL_ROLE: role,
    ATOLL_FLEET_CERT_FILE: certFile,
    ATOLL_FLEET_KEY_FILE: keyFile,
    ATOLL_FLEET_CA_FILE: ours.caFile
  }
}

it.live("a host is told by the name in its certificate, each connection by its own", () =>
  Effect.gen(function* () {
    const told: Array<string | null> = []
    const joins = HostJoins.of({
      join: (_, _key, name = null) => {
        told.push(name)
        return Effect.succeed({ installation: "one", beatEveryMs: 1000 })
      },
      beat: () => Effect.void,
      leave: () => Effect.void
    })
    const own = yield* peer(signed("service", "DNS:atoll-service", "service"))
    const { port } = yield* Layer.build(Layer.fresh(JoinServer.layer)).pipe(
      Effect.map((context) => Context.get(context, JoinServer)),
      Effect.provideService(HostJoins, joins),
      Effect.provideService(PeerSockets, own),
      Effect.provide(testSettings({ ATOLL_FLEET_HOST: loopback, ATOLL_FLEET_PORT: "0" }))
    )
    const description = describedBy(simulatedRuntime(yield* SimulatedWorld.make))
    const names = [
      ["rack", "DNS:atoll-host,DNS:Rack-1.atoll-host"],
      ["any", "DNS:atoll-host,DNS:rack-2.atoll-host.example.org"],
      ["other", "DNS:rack-3.example.org,DNS:atoll-host,DNS:rack-3.atoll-host"]
    ] as const
    const clients = yield* Effect.forEach(names, ([of, dns]) =>
      Effect.flatMap(peer(signed(of, dns, "host")), (host) =>
        connectPeerRpcs(JoinRpcs, { host: loopback, port }, "atoll-join/1").pipe(
          Effect.provideService(PeerSockets, host)
        )
      )
    )
    for (const client of clients) {
      yield* client.Join({ ...description, key: "a".repeat(64) })
    }
    assert.deepStrictEqual(told, ["rack-1", null, "rack-3"])
  }).pipe(Effect.scoped, Effect.timeout("60 seconds"))
)
