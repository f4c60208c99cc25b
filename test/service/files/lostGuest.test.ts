/** The client's answer when the guest is lost in the middle of its change, and when it was never reached. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { type GuestFiles, GuestUnavailable } from "../../../src/runtime/Guest.ts"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { type Answer, TestService } from "../../support/files/TestService.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"

let fault: GuestUnavailable["fault"] = "lost"
const fails = Effect.suspend(() => Effect.fail(new GuestUnavailable({ message: "m", fault })))
const files: GuestFiles = {
  stat: () => fails,
  read: () => fails,
  write: () => fails,
  edit: () => fails,
  list: () => fails,
  createDirectory: () => fails,
  rename: () => fails,
  remove: () => fails,
  unpack: () => fails,
  pack: () => fails
}

/** Running Sandboxes whose guests do not answer. */
const silentGuests = Layer.effect(
  Runtime,
  Effect.map(SimulatedWorld.make, (world) => {
    const simulated = simulatedRuntime(world)
    return {
      ...simulated,
      guest: (sandboxId: string, generation: number) =>
        Effect.map(simulated.guest(sandboxId, generation), (guest) => ({
          ...guest,
          files,
          processes: { ...guest.processes, endOne: () => fails, every: fails, execute: () => fails }
        }))
    }
  })
)

/** Calls whose contract has no 503: they are 502 when the Sandbox does not answer. */
const processCalls = new Set(["endProcess", "execute", "processes"])

const calls = ({ files, send, sandboxId }: TestService["Service"]) => {
  const path = "/workspace/f"
  const tar = { "content-type": "application/x-tar" }
  const edit = { expectedSha256: "0".repeat(64), oldText: "a", newText: "b" }
  const changes = {
    write: () => files("PUT", "/content", { path }, { body: Buffer.from("x") }),
    edit: () => files("PATCH", "/content", { path }, { body: edit }),
    directory: () => files("POST", "/directory", { path }, { body: {} }),
    rename: () => files("POST", "/rename", { path }, { body: { destination: "/workspace/g" } }),
    remove: () => files("DELETE", "", { path }),
    unpack: () => files("POST", "/archive", { path }, { body: Buffer.from("x"), headers: tar }),
    endProcess: () => send("DELETE", `/sandboxes/${sandboxId}/processes/7-7`),
    execute: () => send("POST", `/sandboxes/${sandboxId}/execute`, { body: { argv: ["true"] } })
  }
  const reads = {
    stat: () => files("GET", "/stat", { path }),
    read: () => files("GET", "/content", { path }),
    list: () => files("GET", "/list", { path }),
    pack: () => files("GET", "/archive", { path }),
    processes: () => send("GET", `/sandboxes/${sandboxId}/processes`)
  }
  return {
    all: Object.entries({ ...changes, ...reads }),
    /** Asserts that an answer is the one for a lost guest, or for one that was not reached. */
    assertTold: (
      name: string,
      { status, json, headers }: Answer,
      fault: GuestUnavailable["fault"],
      isHostThere = true
    ) => {
      const isUnknown = fault !== "unreached" && name in changes
      if (isHostThere && fault === "unreached" && !processCalls.has(name)) {
        const retryAfter = headers["retry-after"]
        assert.deepStrictEqual(
          [name, status, json.code, json.details, Number(retryAfter) > 0],
          [name, 503, "SERVICE_UNAVAILABLE", null, true]
        )
        return
      }
      assert.isUndefined(headers["retry-after"], `${name} ${fault}`)
      assert.deepStrictEqual(
        [name, status, json.code, json.details],
        [name, 502, "SANDBOX_UNAVAILABLE", isUnknown ? { status: null, outcome: "unknown" } : { status: null }],
        fault
      )
      assert.strictEqual(json.message.includes("Try again"), !isUnknown, `${name} ${fault}`)
    }
  }
}

const title =
  "leaves the outcome of each change unknown; a call that was not reached has done nothing, and a file call then says when to repeat it"

describe.skipIf(isOverAFleet)("a lost guest", () => {
  layer(TestService.layer(silentGuests), { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect(title, () =>
      Effect.gen(function* () {
        const { all, assertTold } = calls(yield* TestService)
        for (fault of ["lost", "protocol", "unreached"] as const) {
          for (const [name, call] of all) assertTold(name, yield* Effect.promise(call), fault)
        }
      })
    )
  })
})

/**
 * A host that dies takes the connections to its agents with it: requests that an agent had not answered by then are
 * lost.
 */
describe.skipIf(!isOverAFleet)("a guest whose host dies", () => {
  layer(TestService.layer(silentGuests), { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect(title, () =>
      Effect.gen(function* () {
        const service = yield* TestService
        const { send, sandboxId, killHosts } = service
        const { all, assertTold } = calls(service)
        yield* Effect.promise(async () => {
          // The agent does all other work there. It answers nothing any more, and this request neither.
          const freeze = { argv: ["sh", "-c", "kill -STOP $(pgrep -of '^/opt/atoll/node ')"] }
          const frozen = send("POST", `/sandboxes/${sandboxId}/execute`, { body: freeze })
          await sleep(1000)
          const asked = all.map(([, call]) => call())
          await sleep(3000)
          await killHosts()
          assertTold("execute", await frozen, "lost")
          for (const [at, [name]] of all.entries()) assertTold(name, await asked[at]!, "lost")
          for (const [name, call] of all) assertTold(name, await call(), "unreached", false)
        })
      })
    )
  })
})
