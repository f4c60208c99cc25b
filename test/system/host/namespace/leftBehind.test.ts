/** What a Sandbox makes to burden its host must cost the Sandbox, not the service, and never delay its end. */
import { readdirSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { dataFolder, driverOn, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { instanceOf, lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { commandSpec, eventually, output, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { thicket } from "./thicket.ts"

/** A driver and its folder, for one test; nothing of it is left on the host afterwards. */
const onHost = <A, E>(body: (driver: Runtime["Service"], dataDir: string) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const dataDir = dataFolder()
    const work = Effect.gen(function* () {
      const driver = yield* Runtime
      yield* body(driver, dataDir)
      for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
    })
    yield* Effect.provide(work, driverOn(dataDir))
    const left = yield* Effect.promise(() => lastingTracesOf(dataDir))
    yield* Effect.promise(() => rm(dataDir, { recursive: true, force: true }))
    expect(left).toEqual([])
  })

describe.skipIf(skipped(unusable))("the leftovers of a Sandbox", () => {
  it.live("a /tmp of any shape is gone at the next boot, and its bytes soon after", () =>
    onHost((driver, dataDir) =>
      Effect.gen(function* () {
        const volume = isRoot
          ? join("/run", instanceOf(dataDir), "thicket")
          : join(dataDir, "runtime", "namespace", "thicket", "volume")
        yield* driver.provision(sandboxSpec("thicket"))
        const first = yield* driver.guest("thicket", 1)
        expect((yield* run(first, commandSpec(["python3", "-c", thicket("/tmp")]))).exited.exitCode).toBe(0)
        yield* driver.stop("thicket", 1)
        yield* driver.provision(sandboxSpec("thicket", { generation: 2 }))
        // The removal is interrupted in the middle, and continued.
        yield* driver.stop("thicket", 1)
        yield* driver.provision(sandboxSpec("thicket", { generation: 3 }))
        expect(yield* output(yield* driver.guest("thicket", 3), "ls -A /tmp")).toBe("")
        yield* eventually(
          Effect.sync(() => readdirSync(volume).every((it) => /^(tmp|workspace|lost\+found|console-3)$/.test(it)))
        )
      })
    )
  )

  it.live.skipIf(!isRoot)("cgroups cannot be nested out of reach, and their Sandbox can be deleted", () =>
    onHost((driver) =>
      Effect.gen(function* () {
        yield* driver.provision(sandboxSpec("nested"))
        const guest = yield* driver.guest("nested", 1)
        const nest = `import os
os.chdir("/opt/atoll/cgroup")
n = "d" * 200
made = 0
try:
    for _ in range(40):
        os.mkdir(n); os.chdir(n); made += 1
except OSError: pass
print(made)`
        expect(Number(yield* output(guest, `python3 -c '${nest}'`))).toBeLessThan(10)
        // As many as it may have; commands that go on keep the last ones: their own, and the one that the agent may have made ahead.
        const goesOn = "sleep 900 > /dev/null 2>&1 &"
        const fill = `import os
try:
    for n in range(5000): os.mkdir(f"/opt/atoll/cgroup/x{n}")
except OSError: pass`
        yield* output(guest, `python3 -c '${fill}'; ${goesOn}`)
        const refused = yield* Effect.flip(Effect.repeat(run(guest, shell(goesOn)), { times: 1 }))
        expect(refused).toMatchObject({ code: "TOO_MANY_PROCESSES" })
        yield* driver.destroy("nested")
        expect(yield* driver.inventory).toEqual([])
      })
    )
  )

  it.live("a forged mark on a Sandbox's process is no evidence", () =>
    onHost((driver, dataDir) =>
      Effect.gen(function* () {
        yield* driver.provision(sandboxSpec("forger"))
        const guest = yield* driver.guest("forger", 1)
        for (const [index, claim] of ["bad id!/1", "ghost/1", "ghost/NaN", "forger/99", "/", "\u001b[2J/1"].entries()) {
          const env = { ATOLL_SANDBOX: `${instanceOf(dataDir)}/${claim}` }
          yield* guest.processes.start(`forged-${index}`, { ...shell("exec sleep 900"), env })
        }
        yield* eventually(Effect.map(output(guest, "pgrep -cfx 'sleep 900' || true"), (it) => it === "6"))
        expect(yield* driver.inventory).toEqual([{ sandboxId: "forger", state: "running", generation: 1 }])
        yield* driver.destroy("ghost")
        expect(yield* output(guest, "pgrep -cfx 'sleep 900'")).toBe("6")
      })
    )
  )
})
