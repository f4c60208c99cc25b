/** The probe of this host, while other processes change what is mounted. */
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { probe } from "../../../../src/host/namespace/probe.ts"

const canMount = process.getuid?.() === 0

/**
 * Many permanent mounts, which make a walk over all of them slow, and some behind them that come and go until the scope
 * ends.
 */
const churningMounts = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync("/run/atoll-probe-test-")
    // bubblewrap skips mounts that it may not enter.
    chmodSync(folder, 0o755)
    const stay = `for i in $(seq 200); do mkdir ${folder}/stays-$i; mount -t tmpfs none ${folder}/stays-$i; done`
    spawnSync("sh", ["-c", stay], { stdio: "ignore" })
    const one = `${folder}/goes-$i`
    const churn = `while true; do for i in $(seq 8); do mkdir -p ${one}; mount -t tmpfs none ${one}; done; for i in $(seq 8); do umount ${one}; rmdir ${one}; done; done`
    return { folder, child: spawn("sh", ["-c", churn], { stdio: "ignore", detached: true }) }
  }),
  ({ folder, child }) =>
    Effect.promise(async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve))
      process.kill(-child.pid!, "SIGKILL")
      await ended
      spawnSync("sh", ["-c", `umount ${join(folder, "*")}`], { stdio: "ignore" })
      rmSync(folder, { recursive: true, force: true })
    })
)

describe.skipIf(!canMount)("the probe", () => {
  it.effect(
    "finds that namespaces work while mounts of other processes come and go",
    () =>
      Effect.gen(function* () {
        yield* churningMounts
        for (let i = 0; i < 40; i++) {
          const found = yield* probe
          assert.isTrue(found.ok, found.ok ? "" : found.reason)
        }
      }).pipe(Effect.scoped),
    60_000
  )
})
