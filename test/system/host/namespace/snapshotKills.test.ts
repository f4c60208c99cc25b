/** A service that is killed while it takes a snapshot. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { dataFolder, driverOn, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilSeen } from "../../../support/until.ts"

const ROUNDS = 2
const volumeBytes = 512 * 1024 ** 2
const program = fileURLToPath(new URL("snapshotTaker.ts", import.meta.url))
const obstacle = unusable ?? (isRoot ? null : "volumes are images only as root")

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])

/** Kills the service while an image is being made. */
const killedDuringCapture = async (dataDir: string, snapshots: string): Promise<void> => {
  const service = spawn(process.execPath, [program, dataDir], { stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(service, "exit")
  let said = ""
  service.stdout.on("data", (chunk) => {
    said += chunk
  })
  try {
    await untilSeen(
      () => said,
      (text) => text.includes("filled")
    )
    await untilSeen(
      () => namesIn(snapshots),
      (names) => names.some((name) => name.endsWith(".partial")),
      { everyMs: 1 }
    )
  } finally {
    service.kill("SIGKILL")
    await ended
  }
}

describe.skipIf(skipped(obstacle))("a service that is killed during a snapshot", () => {
  it.live(
    "leaves the Sandbox writing, and of the snapshot all or nothing",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dataDir = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
            Effect.promise(() => rm(path, { recursive: true, force: true }))
          )
          const snapshots = join(dataDir, "runtime", "namespace", ".snapshots")
          for (let round = 1; round <= ROUNDS; round++) {
            yield* Effect.promise(() => killedDuringCapture(dataDir, snapshots))
            yield* Effect.gen(function* () {
              const driver = yield* Runtime
              const found = yield* driver.snapshots.inventory
              // What was not whole is gone by now.
              expect(namesIn(snapshots).toSorted()).toEqual(found.length === 0 ? [] : ["snap.img", "snap.json"])
              const source = yield* driver.guest("source", 1)
              expect(yield* output(source, `echo ${round} > round; sync; cat round`)).toBe(String(round))
              yield* driver.snapshots.capture("snap", "source")
              const child = `child${round}`
              yield* driver.provision(sandboxSpec(child, { volumeBytes, snapshotId: "snap" }))
              expect(yield* output(yield* driver.guest(child, 1), "sha256sum -c sum")).toBe("bytes: OK")
              yield* driver.destroy(child)
              yield* driver.snapshots.remove("snap", null)
              expect(namesIn(snapshots)).toEqual([])
              if (round === ROUNDS) yield* driver.destroy("source")
            }).pipe(Effect.provide(driverOn(dataDir)))
          }
          expect(yield* Effect.promise(() => lastingTracesOf(dataDir))).toEqual([])
        })
      ),
    240_000
  )
})
