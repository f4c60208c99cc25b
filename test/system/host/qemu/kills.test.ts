/**
 * A service that is killed at an effect of a sleep, a waking, a snapshot with memory or a start of that, on a real
 * machine: the machine goes on, or sleeps with its memory whole. At which effects: `KillRounds.ts`.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { KillRounds } from "../../../support/host/KillRounds.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilKilled } from "../../../support/untilKilled.ts"

const everyNth = 12
const steps = { suspend: 8, wake: 8, capture: everyNth, fork: everyNth }
const actions = ["suspend", "wake", "capture", "fork"] as const

/** Its effects, if it was not killed; else null. */
const actedOn = (folder: string, action: (typeof actions)[number], killAt: number) =>
  Effect.promise(() => untilKilled(join(import.meta.dirname, "fixtures/killedAt.ts"), [folder, action, String(killAt)]))

describe.skipIf(unusable !== null)("a service that is killed", () => {
  it.live(
    "at any effect of a sleep, a waking or a snapshot with memory leaves a machine that goes on with its memory",
    (context) =>
      Effect.gen(function* () {
        const folder = yield* scopedFolder
        const on = <A, E>(body: Effect.Effect<A, E, Runtime>) => Effect.provide(body, driverOn(folder))
        const files = () => readdirSync(`${folder}/runtime/qemu/held`).toSorted()

        /** Runs on, or is woken: with its memory, and without leftovers of a sleep. */
        const goesOn = (what: string, before: number) =>
          on(
            Effect.gen(function* () {
              const driver = yield* Runtime
              const [entry] = yield* driver.inventory
              assert.include(["running", "suspended"], entry?.state, what)
              yield* driver.provision(sandboxSpec("held"))
              const guest = yield* driver.guest("held", 1)
              const count = Effect.map(output(guest, "cat /dev/shm/count"), Number)
              const first = yield* count
              assert.isAtLeast(first, before, `${what}: its memory is another one`)
              yield* eventually(Effect.map(count, (now) => now > first))
              const off = Number(yield* output(guest, "date +%s%3N")) - Date.now()
              assert.isBelow(Math.abs(off), 20_000, `${what}: its clock`)
              assert.isFalse(existsSync(`${folder}/runtime/qemu/held/suspended.state`), what)
              return first
            })
          )

        const take = on(Effect.flatMap(Runtime, (driver) => driver.snapshots.capture("snap", "held", true)))
        /** A later service makes it again, or finds it: with the memory of its snapshot, and its own name. */
        const isForked = (what: string, before: number) =>
          on(
            Effect.gen(function* () {
              const driver = yield* Runtime
              yield* driver.provision(sandboxSpec("child", { snapshotId: "snap" }))
              const guest = yield* driver.guest("child", 1)
              const [count, name] = (yield* output(guest, "cat /dev/shm/count; hostname")).split("\n")
              assert.isAtLeast(Number(count), before, what)
              assert.strictEqual(name, "child", what)
              yield* driver.destroy("child")
            })
          )
        const forget = on(Effect.flatMap(Runtime, (driver) => driver.snapshots.remove("snap", null)))
        const images = () => readdirSync(`${folder}/runtime/qemu/.snapshots`)

        yield* Effect.gen(function* () {
          let count = yield* on(
            Effect.gen(function* () {
              const driver = yield* Runtime
              yield* driver.provision(sandboxSpec("held"))
              const guest = yield* driver.guest("held", 1)
              yield* guest.processes.start(
                "count",
                shell(
                  "i=0; while :; do i=$((i+1)); echo $i > /dev/shm/new; mv /dev/shm/new /dev/shm/count; sleep 0.1; done",
                  // As long as all kills take.
                  { timeoutMs: null }
                )
              )
              yield* eventually(Effect.map(output(guest, "cat /dev/shm/count || echo 0"), (now) => Number(now) > 0))
              return 1
            })
          )
          const before = files()
          const rounds = new KillRounds(everyNth)
          const places = rounds.places(actions, (action) => steps[action])
          let effects: number | null = null
          for (let next = places.next(effects); !next.done; next = places.next(effects)) {
            const { action, at } = next.value
            if (action === "wake") yield* on(Effect.flatMap(Runtime, (driver) => driver.suspend("held", 1)))
            if (action === "fork") yield* take
            effects = yield* actedOn(folder, action, at)
            const what = `${action}, killed at ${at}`
            if (action === "fork") yield* isForked(what, count)
            count = yield* goesOn(what, count)
            if (action === "capture" || action === "fork") {
              yield* forget
              assert.deepStrictEqual(images(), [], what)
            }
            assert.deepStrictEqual(files(), before)
            if (effects !== null) assert.isAbove(effects, 8)
            rounds.note(context, actions)
          }
          rounds.note(context, actions)
          console.log(`${rounds.kills} kills of a service that moves memory, seed ${rounds.seed}`)
          assert.isAtLeast(rounds.kills, rounds.killsMin)
        }).pipe(Effect.ensuring(Effect.orDie(on(Effect.flatMap(Runtime, destroyAll)))))
      }).pipe(Effect.scoped),
    KillRounds.timeout(TIMEOUT_MS * 2)
  )
})
