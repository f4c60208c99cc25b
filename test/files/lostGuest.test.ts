/** What a client is told when the guest is lost in the middle of its change, and when it was never reached. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { simulatedRuntime } from "../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../src/host/simulated/SimulatedWorld.ts"
import { type GuestFiles, GuestUnavailable } from "../../src/runtime/Guest.ts"
import { Runtime } from "../../src/runtime/Runtime.ts"
import { TestService } from "./TestService.ts"

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

/** Sandboxes that run and whose guests do not answer. */
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

layer(TestService.layer(silentGuests), { excludeTestServices: true, timeout: 240_000 })(
  "a guest that is lost",
  (it) => {
    it.effect(
      "leaves the outcome of each change unknown; one that was not reached has done nothing, and reads never do",
      () =>
        Effect.gen(function* () {
          const { files, send, sandboxId } = yield* TestService
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
          for (fault of ["lost", "protocol", "unreached"] as const) {
            for (const [name, call] of Object.entries({ ...changes, ...reads })) {
              const { status, json } = yield* Effect.promise(call)
              const isUnknown = fault !== "unreached" && name in changes
              assert.deepStrictEqual(
                [name, status, json.code, json.details],
                [name, 502, "SANDBOX_UNAVAILABLE", isUnknown ? { status: null, outcome: "unknown" } : { status: null }],
                fault
              )
              assert.strictEqual(json.message.includes("Try again"), !isUnknown, `${name} ${fault}`)
            }
          }
        })
    )
  }
)
