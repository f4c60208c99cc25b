/** How a host joins its fleet, and stays joined. */
import { randomBytes } from "node:crypto"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Joining } from "../../../../src/host/ingress/Joining.ts"
import { OwnHost } from "../../../../src/host/ingress/OwnHost.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { PeerSocketsLive } from "../../../../src/peer/PeerSocketsLive.ts"
import { JoinRefused } from "../../../../src/runtime/distant/JoinRpcs.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freePort } from "../../../support/freePort.ts"
import { JoinedService } from "../../../support/host/ingress/JoinedService.ts"
import { loopback, peer, remember, until } from "../../../support/peer/TestPeers.ts"
import { testSettings } from "../../../support/TestSettings.ts"
import { testFolder } from "../../../support/testFolder.ts"

const setting = Effect.gen(function* () {
  const folder = yield* testFolder
  const secretFile = join(folder, "secret")
  writeFileSync(secretFile, randomBytes(32).toString("hex"), { mode: 0o600 })
  const dataDir = yield* testFolder
  const world = yield* SimulatedWorld.make
  const peers = yield* peer({ ATOLL_FLEET_SECRET_FILE: secretFile })
  /** A host that joins these ports, for as long as the scope lasts. */
  const host = (ports: ReadonlyArray<number>, environment: Readonly<Record<string, string>> = {}) =>
    Layer.build(
      Layer.fresh(Joining.layer).pipe(
        Layer.provideMerge(Layer.fresh(OwnHost.layer)),
        Layer.provide(Layer.succeed(Runtime, simulatedRuntime(world))),
        Layer.provide(Layer.fresh(PeerSocketsLive.layer)),
        Layer.provide(remember),
        Layer.provide(
          testSettings({
            ATOLL_ROLE: "host",
            ATOLL_DATA_DIR: dataDir,
            ATOLL_FLEET_SECRET_FILE: secretFile,
            ATOLL_FLEET_JOIN: ports.map((port) => `${loopback}:${port}`).join(","),
            ATOLL_FLEET_ADDRESS: "host.example.org:7070",
            ATOLL_HOST_VCPUS: "12",
            ATOLL_HOST_MEMORY_BYTES: "1000000",
            ...environment
          })
        )
      )
    ).pipe(Effect.map((context) => Context.get(context, Joining)))
  const service = ({
    port = 0,
    refusal = null
  }: {
    readonly port?: number
    readonly refusal?: JoinRefused | null
  } = {}) =>
    Effect.gen(function* () {
      const made = new JoinedService("the database")
      made.refusal = refusal
      yield* made.listen(peers, port)
      return made
    })
  return { dataDir, world, host, service }
})

const so = (is: () => boolean, what: string) => until(Effect.sync(is), what)

describe("a host", () => {
  it.live(
    "joins the first service that answers, belongs to its database from then on, beats, and leaves at its stop",
    () =>
      Effect.gen(function* () {
        const { dataDir, world, host, service } = yield* setting
        const unused = yield* Effect.promise(() => freePort())
        const there = yield* service()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { standing } = yield* host([unused, there.port])
            yield* so(() => there.beats.length > 1, "it beats")
            assert.deepStrictEqual(standing(), { service: `${loopback}:${there.port}`, fault: null })
            const [said] = there.joined
            assert.deepInclude(said, {
              installation: null,
              driver: "simulated",
              kind: "namespace",
              address: { host: "host.example.org", port: 7070 },
              networkRefused: null
            })
            assert.deepInclude(said!.capacity, { vcpus: 12, memoryBytes: 1_000_000, parallelStarts: 4 })
            assert.isAbove(said!.capacity.diskBytes, 0)
            assert.strictEqual(readFileSync(join(dataDir, "host"), "utf8").trim(), said!.hostId)
            assert.strictEqual(readFileSync(join(dataDir, "installation"), "utf8").trim(), "the database")
            world.networkRefused = "No network here."
            yield* so(() => there.beats.at(-1)!.networkRefused === "No network here.", "the change is reported")
          })
        )
        const { hostId, boot } = there.joined[0]!
        assert.deepStrictEqual(there.left, [{ hostId, boot }])
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* host([there.port])
            yield* so(() => there.joined.at(-1)!.boot !== boot, "it joins again")
          })
        )
        assert.deepInclude(there.joined.at(-1), { hostId, installation: "the database" })
        // Its key identifies it again; the key is its own.
        const keyFile = join(dataDir, "host.key")
        assert.deepStrictEqual([...new Set(there.keys)], [readFileSync(keyFile, "utf8").trim()])
        assert.strictEqual(statSync(keyFile).mode & 0o777, 0o600)
      })
  )

  it.live("joins again when it is unknown, and joins another service when its own has gone or does not answer", () =>
    Effect.gen(function* () {
      const { host, service } = yield* setting
      const [one, two] = [yield* service(), yield* service()]
      const { standing } = yield* host([one.port, two.port])
      yield* so(() => one.beats.length > 0, "it is with the first")
      one.knows = false
      yield* so(() => two.beats.length > 0, "it is with the second")
      assert.strictEqual(two.joined[0]!.boot, one.joined[0]!.boot)
      for (const socket of two.sockets) socket.destroy()
      yield* so(() => one.joined.length > 1, "it is with the first again")
      one.isFrozen = true
      yield* so(() => two.joined.length > 1 && standing().service !== null, "it is with the second again")
      assert.deepStrictEqual([one.left, two.left], [[], []])
    })
  )

  it.live("retries while no service answers, or while it is refused for now, and says why", () =>
    Effect.gen(function* () {
      const { host, service } = yield* setting
      const port = yield* Effect.promise(() => freePort())
      const { standing } = yield* host([port])
      const says = (what: string) => so(() => standing().fault?.includes(what) === true, `it says: ${what}`)
      yield* says("nothing listens there")
      const there = yield* service({ port, refusal: new JoinRefused({ message: "Not now.", isFinal: false }) })
      yield* says("Not now.")
      there.refusal = null
      yield* so(() => there.beats.length > 0, "it has joined")
      assert.deepStrictEqual(standing(), { service: `${loopback}:${port}`, fault: null })
    })
  )

  it.live("gives up with a sentence where it can never join", () =>
    Effect.gen(function* () {
      const { dataDir, host, service } = yield* setting
      const there = yield* service({ refusal: new JoinRefused({ message: "Of another fleet.", isFinal: true }) })
      const refused = yield* host([there.port])
      const { message } = yield* Effect.flip(refused.forbidden)
      assert.strictEqual(message, "Of another fleet.")
      assert.isNull(refused.standing().service)

      there.refusal = null
      writeFileSync(join(dataDir, "installation"), "another database\n")
      const foreign = yield* host([there.port])
      assert.include((yield* Effect.flip(foreign.forbidden)).message, "belongs to another database")
      assert.strictEqual(readFileSync(join(dataDir, "installation"), "utf8"), "another database\n")
    })
  )

  it.live("does not start where no service could reach it, or without the address of one", () =>
    Effect.gen(function* () {
      const { host } = yield* setting
      const everywhere = yield* host([1], { ATOLL_FLEET_HOST: "0.0.0.0", ATOLL_FLEET_ADDRESS: "" }).pipe(Effect.flip)
      assert.include(everywhere.message, "Set ATOLL_FLEET_ADDRESS")
      const alone = yield* host([]).pipe(Effect.flip)
      assert.include(alone.message, "ATOLL_ROLE=host needs ATOLL_FLEET_JOIN")
    })
  )
})
