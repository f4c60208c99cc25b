/**
 * A service that is killed at an effect of a start, of a spare's start, handover or end, of a stop or a deletion of a namespace Sandbox: the next one finishes
 * it, keeps the volume as long as it should, and leaves nothing on the host. At which effects: `KillRounds.ts`.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime, type SandboxSpec } from "../../../../src/runtime/Runtime.ts"
import { KillRounds } from "../../../support/host/KillRounds.ts"
import { dataFolder, driverOn, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilKilled } from "../../../support/untilKilled.ts"
import { openHost } from "./openHost.ts"

const everyNth = 12
const actions = ["start", "spare", "take", "copy", "close", "stop", "destroy"] as const

/** A spare is handed over in few effects: at each of them. It is made and ended in some more. */
const stepOf = (action: (typeof actions)[number]): number =>
  action === "take" ? 1 : ["spare", "close"].includes(action) ? 6 : everyNth

const program = join(import.meta.dirname, "fixtures/killedAt.ts")

describe.skipIf(skipped(unusable))("a service of namespaces that is killed", () => {
  it.live(
    "at any effect of a start, a stop or a deletion leaves work that the next one finishes",
    (context) =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
          Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        const on = <A, E>(body: (driver: Runtime["Service"]) => Effect.Effect<A, E>) =>
          Effect.provide(Effect.flatMap(Runtime, body), driverOn(folder))
        const acted = (action: string, generation: number, at: number) =>
          Effect.promise(() => untilKilled(program, [folder, action, String(generation), String(at)]))
        const snapshotted = on((driver) =>
          Effect.gen(function* () {
            yield* driver.provision(sandboxSpec("source"))
            yield* output(yield* driver.guest("source", 1), "echo copied > /workspace/kept")
            yield* driver.snapshots.capture("snap", "source")
            yield* driver.destroy("source")
          })
        )
        const destroyed = Effect.gen(function* () {
          yield* on((driver) => Effect.andThen(driver.destroy("victim"), driver.snapshots.remove("snap", null)))
          yield* Effect.promise(async () => {
            const host = await openHost(folder)
            await host.spares.endOrphans()
            await host.close()
          })
          assert.deepStrictEqual(yield* on((driver) => driver.inventory), [])
          assert.deepStrictEqual(yield* Effect.promise(() => lastingTracesOf(folder)), [])
        })
        const running = (generation: number, changes: Partial<SandboxSpec> = {}) =>
          on((driver) =>
            Effect.gen(function* () {
              yield* driver.provision(sandboxSpec("victim", { generation, ...changes }))
              return yield* output(
                yield* driver.guest("victim", generation),
                "cat /workspace/kept 2>/dev/null || echo kept > /workspace/kept"
              )
            })
          )
        const rounds = new KillRounds(everyNth)
        const places = rounds.places(actions, stepOf)
        let effects: number | null = null
        for (let next = places.next(effects); !next.done; next = places.next(effects)) {
          const { action, at } = next.value
          // A start of the first generation, which makes the volume; of a later one for the others.
          if (action === "stop" || action === "destroy") yield* running(1)
          if (action === "copy") yield* snapshotted
          effects = yield* acted(action, 1, at)
          const what = `${action}, killed at ${at}`
          if (action === "stop") {
            yield* on((driver) => driver.stop("victim", 1))
            const inventory = yield* on((driver) => driver.inventory)
            assert.deepStrictEqual(inventory, [{ sandboxId: "victim", state: "volume", generation: null }], what)
            assert.strictEqual(yield* running(2), "kept", what)
          } else if (action === "start" || action === "take") {
            yield* running(1)
            assert.strictEqual(yield* running(1), "kept", what)
          } else if (action === "copy") {
            assert.strictEqual(yield* running(1, { snapshotId: "snap" }), "copied", what)
          }
          yield* destroyed
          rounds.note(context, actions)
        }
        rounds.note(context, actions)
        console.log(`${rounds.kills} kills of a service in a start, a stop or a deletion, seed ${rounds.seed}`)
        assert.isAtLeast(rounds.kills, rounds.killsMin)
      }).pipe(Effect.scoped),
    KillRounds.timeout(240_000)
  )
})
