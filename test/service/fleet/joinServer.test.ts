/** The port where hosts join: it knows each host by its certificate. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TLSSocket } from "node:tls"
import { afterAll, assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HostJoins } from "../../../src/fleet/HostJoins.ts"
import { JoinServer } from "../../../src/fleet/JoinServer.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { connectPeerRpcs } from "../../../src/peer/PeerRpc.ts"
import { PeerSockets } from "../../../src/peer/PeerSockets.ts"
import { JoinRpcs } from "../../../src/runtime/distant/JoinRpcs.ts"
import { authority } from "../../support/authority.ts"
import { loopback, peer, until } from "../../support/peer/TestPeers.ts"
import { describedBy } from "../../support/runtime/distant/TestDistant.ts"
import { testSettings } from "../../support/TestSettings.ts"

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

/** The join port. */
const serving = Effect.fnUntraced(function* (joins: HostJoins["Service"]) {
  const own = yield* peer(signed("service", "DNS:atoll-service", "service"))
  const { port } = yield* Layer.build(Layer.fresh(JoinServer.layer)).pipe(
    Effect.map((context) => Context.get(context, JoinServer)),
    Effect.provideService(HostJoins, joins),
    Effect.provideService(PeerSockets, own),
    Effect.provide(testSettings({ ATOLL_FLEET_HOST: loopback, ATOLL_FLEET_PORT: "0" }))
  )
  return port
})

it.live("the join port names a host by its certificate, each connection by its own", () =>
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
    const port = yield* serving(joins)
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

it.live("the join port cuts a host that sends more requests than it has reason to, and delays no other host", () =>
  Effect.gen(function* () {
    let [beats, atOnce, most] = [0, 0, 0]
    const joins = HostJoins.of({
      join: () => Effect.succeed({ installation: "one", beatEveryMs: 1000 }),
      beat: () =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            beats++
            most = Math.max(most, ++atOnce)
          }),
          () => Effect.sleep(10),
          () => Effect.sync(() => atOnce--)
        ),
      leave: () => Effect.void
    })
    const port = yield* serving(joins)
    const { hostId, boot, capacity } = describedBy(simulatedRuntime(yield* SimulatedWorld.make))
    const beat = { hostId, boot, capacity, networkRefused: null }
    const clientOf = (of: string) =>
      Effect.flatMap(peer(signed(of, `DNS:atoll-host,DNS:${of}.atoll-host`, "host")), (host) =>
        Effect.map(
          connectPeerRpcs(JoinRpcs, { host: loopback, port }, "atoll-join/1").pipe(
            Effect.provideService(PeerSockets, host)
          ),
          (client) => ({ host, client })
        )
      )
    const greedy = yield* clientOf("greedy")
    const honest = yield* clientOf("honest")
    // A call that begins before there is a connection fails.
    const heard = (client: typeof honest.client) => Effect.retry(client.Beat(beat), { times: 1000 })
    yield* heard(greedy.client)
    yield* heard(honest.client)
    beats = 0
    const asked = 3000
    const exits = yield* Effect.forEach(
      Array.from({ length: asked }, () => Effect.exit(greedy.client.Beat(beat))),
      (exit) => exit,
      { concurrency: "unbounded" }
    )
    assert.isAbove(exits.filter((exit) => exit._tag === "Failure").length, asked - 100)
    assert.isBelow(beats, 100)
    assert.strictEqual(most, 1)
    yield* heard(honest.client)

    const opened: Array<TLSSocket> = []
    for (let times = 0; times < 12; times++) {
      opened.push(yield* greedy.host.connect({ host: loopback, port }, "atoll-join/1"))
    }
    // A client that does not read does not see the end.
    for (const socket of opened) socket.resume()
    yield* until(
      Effect.sync(() => opened.filter(({ destroyed }) => !destroyed).length <= 4),
      "the oldest are cut"
    )
    assert.isFalse(opened.at(-1)!.destroyed)
    yield* heard(honest.client)
  }).pipe(Effect.scoped, Effect.timeout("60 seconds"))
)
