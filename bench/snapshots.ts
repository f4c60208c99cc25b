/**
 * A snapshot of a running namespace Sandbox with 1 GiB written, in process (as root): how long its writers wait, and how long a Sandbox from it takes to
 * its first command, with a spare and without, beside one with an empty volume, in turns. The data folder is below `BENCH_FOLDER` (default: the system's temporary folder). Where
 * volumes have reflinks a snapshot copies nothing. `BENCH_RUNS` sets how often (default 7), `BENCH_WRITTEN_MIB` how much is written.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { ConfigProvider, Effect, Layer } from "effect"
import { Settings } from "../src/Config.ts"
import { hasReflinks } from "../src/host/linux/reflinks.ts"
import { runTrue } from "../src/host/linux/warm.ts"
import { layer } from "../src/host/namespace/NamespaceRuntime.ts"
import { Runtime, type SandboxSpec } from "../src/runtime/Runtime.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"
import { timesRow } from "./TimesRow.ts"

const runs = Number(process.env["BENCH_RUNS"] ?? 7)
const writtenMiB = Number(process.env["BENCH_WRITTEN_MIB"] ?? 1024)
const MiB = 1024 ** 2
/** Time in which a spare is made again. */
const SPARE_READY_MS = 2_000

const dataDir = await mkdtemp(join(process.env["BENCH_FOLDER"] ?? tmpdir(), "atoll-bench-"))

const spec = (sandboxId: string, snapshotId?: string): SandboxSpec => ({
  sandboxId,
  generation: 1,
  vcpus: 1,
  memoryBytes: 512 * MiB,
  volumeBytes: (writtenMiB + 512) * MiB,
  networkEnabled: false,
  ...(snapshotId === undefined ? {} : { snapshotId })
})

/** @param ahead Each copy finds a spare. */
const run = Effect.fnUntraced(function* (ahead: boolean) {
  const driver = yield* Runtime
  const created = Effect.fnUntraced(function* (sandboxId: string, snapshotId?: string) {
    const before = performance.now()
    yield* driver.provision(spec(sandboxId, snapshotId))
    yield* runTrue(yield* driver.guest(sandboxId, 1))
    return performance.now() - before
  })
  yield* created("source")
  const source = yield* driver.guest("source", 1)
  const written = yield* source.processes.execute("fill", {
    argv: ["sh", "-c", `head -c ${writtenMiB * MiB} /dev/urandom > /workspace/file`],
    cwd: "/workspace",
    env: {},
    stdin: null,
    timeoutMs: null,
    output: { mode: "head", bytes: 1024 }
  })
  if (written.exitCode !== 0) throw new Error(`The Sandbox could not write: ${written.exitCode}`)
  const figures = { paused: [], captured: [], copies: [], empty: [] } as Record<string, Array<number>>
  for (let index = 0; index < runs; index++) {
    if (ahead) yield* Effect.promise(() => sleep(SPARE_READY_MS))
    const before = performance.now()
    const { pausedMs } = yield* driver.snapshots.capture("snap", "source")
    figures["captured"]!.push(performance.now() - before)
    figures["paused"]!.push(pausedMs)
    figures["copies"]!.push(yield* created("copy", "snap"))
    if (!ahead) figures["empty"]!.push(yield* created("empty"))
    for (const id of ahead ? ["copy"] : ["copy", "empty"]) yield* driver.destroy(id)
    yield* driver.snapshots.remove("snap", null)
  }
  yield* driver.destroy("source")
  // Of the file system with the volumes, which need not be the data folder's.
  const reflinks = yield* Effect.promise(() => hasReflinks(join(dataDir, "runtime/namespace")))
  return { ...(figures as Record<"paused" | "captured" | "copies" | "empty", ReadonlyArray<number>>), reflinks }
})

const measured = (ahead: boolean) => {
  // The default provider has read the environment once and for all.
  const env = { ...process.env, ATOLL_SPARES: ahead ? "1" : "0" } as Record<string, string>
  const settings = Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
  return Effect.runPromise(run(ahead).pipe(Effect.provide(layer.pipe(Layer.provideMerge(settings))), Effect.scoped))
}

await chmod(dataDir, 0o711)
process.env["ATOLL_DATA_DIR"] = dataDir
for (const [name, value] of Object.entries({
  ATOLL_SANDBOX_VCPUS: 1,
  ATOLL_SANDBOX_MEMORY_BYTES: 512 * MiB,
  ATOLL_VOLUME_BYTES: (writtenMiB + 512) * MiB
})) {
  process.env[name] = String(value)
}
try {
  const { paused, captured, copies, empty, reflinks } = await measured(false)
  const { copies: ahead } = await measured(true)
  console.log(`Its volumes ${reflinks ? "have" : "have no"} reflinks; ${writtenMiB} MiB are written.`)
  console.table([
    timesRow("the source's writers wait", paused),
    timesRow("the whole snapshot", captured),
    timesRow("create from the snapshot to first command ended", copies),
    timesRow("the same, spare at hand", ahead),
    timesRow("create with an empty volume to first command ended", empty)
  ])
  const ms = { unit: "ms", better: "lower" } as const
  const on = reflinks ? "reflinks" : "no reflinks"
  headline({
    ...ms,
    name: `snapshot of 1 GiB: pause of the source, ${on}`,
    values: inRounds(paused),
    aim: { value: 100 }
  })
  headline({
    ...ms,
    name: `create from a snapshot of 1 GiB → first command ended, ${on}`,
    values: inRounds(copies),
    other: { name: "an empty volume, no spare", values: inRounds(empty) }
  })
  headline({
    ...ms,
    name: `create from a snapshot of 1 GiB → first command ended, spare at hand, ${on}`,
    values: inRounds(ahead),
    aim: { value: 60 }
  })
} finally {
  await rm(dataDir, { recursive: true, force: true })
}
