/**
 * The VM runtime: a client's waiting times, beside bare QEMU that restores the same template with the same agent in the
 * same run.
 * Uses KVM where it works and says which; `ATOLL_BENCH_REPEATS` sets how often (default 7), `ATOLL_BENCH_PARTS` what: `driver` (in process), `http`
 * (through the service; default both). Needs `npm run vm:image`.
 */
import { randomUUID } from "node:crypto"
import { chmod, chown, copyFile, mkdtemp, readFile, rm, truncate } from "node:fs/promises"
import { tmpdir } from "node:os"
import { Effect, Layer } from "effect"
import { Settings } from "../src/Config.ts"
import { runTrue } from "../src/host/linux/warm.ts"
import { launch } from "../src/host/qemu/launchQemu.ts"
import { connectMachine, disconnect, killProcess, loadState } from "../src/host/qemu/Machine.ts"
import { fileMaxBytes, machineArguments } from "../src/host/qemu/machineArguments.ts"
import { openQemuHost, type QemuHost, shapeOf } from "../src/host/qemu/QemuHost.ts"
import { layer } from "../src/host/qemu/QemuRuntime.ts"
import { SandboxFolder } from "../src/host/qemu/SandboxFolder.ts"
import { buildTemplate, findTemplate, templateKey } from "../src/host/qemu/Template.ts"
import { Runtime, type SandboxSpec } from "../src/runtime/Runtime.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"

const repeats = Number(process.env["ATOLL_BENCH_REPEATS"] ?? 7)
const parts = (process.env["ATOLL_BENCH_PARTS"] ?? "driver,http").split(",")
const MiB = 1024 ** 2
/** A spare is started a second after the last one was taken. */
const SPARE_READY_MS = 6_000

const rows: Array<Record<string, string | number>> = []
/** The rows that are headline figures, each with its name and its limit in ms. */
const headlines: Readonly<Record<string, readonly [name: string, aim: number]>> = {
  "execute true over HTTP": ["VM: execute `true` over HTTP", 18],
  "create to first command ended, over HTTP": ["VM: create → first command ended, spare at hand", 80],
  "the same with no spare": ["VM: create → first command ended, no spare", 700],
  wake: ["VM: wake", 400]
}
const row = (what: string, values: ReadonlyArray<number>, unit: string, wanted = "") => {
  rows.push({
    what,
    p50: Number(quantile(values, 0.5).toFixed(1)),
    p99: Number(quantile(values, 0.99).toFixed(1)),
    unit,
    wanted
  })
  const [name, aim] = headlines[what] ?? []
  if (name !== undefined && aim !== undefined)
    headline({ name, unit, better: "lower", values: inRounds(values), aim: { value: aim } })
}

const overHttp = () =>
  BenchService.use({ ATOLL_RUNTIME: "qemu" }, async (service) => {
    const workspaceId = await service.workspace()
    const execute = (id: string) => service.call("POST", `/sandboxes/${id}/execute`, { argv: ["true"] })
    const remove = (id: string) => service.call("DELETE", `/sandboxes/${id}`)
    const id = await service.sandbox(workspaceId)
    await timed(10, () => execute(id))
    row("execute true over HTTP", await timed(100, () => execute(id)), "ms", "≤ 18")
    const content = new Uint8Array(8 * MiB)
    const put = async () => {
      const answer = await fetch(`${service.base}/sandboxes/${id}/files/content?path=/workspace/big`, {
        method: "PUT",
        headers: { ...service.headers, "content-type": "application/octet-stream" },
        body: content
      })
      if (!answer.ok) throw new Error(`PUT content: ${answer.status} ${await answer.text()}`)
    }
    await put()
    row(
      "file write of 8 MiB over HTTP",
      (await timed(repeats, put)).map((ms) => 8.39 / (ms / 1000)),
      "MB/s",
      "≥ 15"
    )
    await remove(id)
    row("create to first command ended, over HTTP", await creates(service, workspaceId, SPARE_READY_MS), "ms", "≤ 80")
  })

/** As many creates as there are repeats, each until its first command has ended and, deleted, after a rest. */
const creates = async (service: BenchService, workspaceId: string, restMs: number): Promise<ReadonlyArray<number>> => {
  const took: Array<number> = []
  for (let index = 0; index < repeats; index++) {
    await new Promise((resolve) => setTimeout(resolve, restMs))
    const before = performance.now()
    const id = await service.sandbox(workspaceId)
    await service.call("POST", `/sandboxes/${id}/execute`, { argv: ["true"] })
    took.push(performance.now() - before)
    await service.call("DELETE", `/sandboxes/${id}`)
  }
  return took
}

/** A service without spares: the one with them prepares the next while the machine that found none boots. */
const withoutSpares = () =>
  BenchService.use({ ATOLL_RUNTIME: "qemu", ATOLL_VM_SPARES: "0" }, async (service) => {
    const workspaceId = await service.workspace()
    const restMs = 1_000
    // The first makes the template's files known to the kernel.
    const [, ...took] = await creates(service, workspaceId, restMs)
    row("the same with no spare", took, "ms", "≤ 700")
  })

/** QEMU and the agent alone: no volume, no identity, no record. */
const bareClone = (host: QemuHost, settings: Settings["Service"]) =>
  Effect.gen(function* () {
    const shape = { ...shapeOf(settings, false), accelerator: host.choice.accelerator }
    const template =
      (yield* Effect.promise(() => findTemplate(host, templateKey(host, shape)))) ?? (yield* buildTemplate(host, shape))
    const folder = new SandboxFolder(host.root, `bare-${randomUUID().slice(0, 8)}`)
    const { uid } = host
    const before = performance.now()
    yield* Effect.promise(async () => {
      await folder.prepare(uid)
      await folder.makeEmpty("volume", uid)
      await truncate(folder.file("volume"), shape.volumeBytes)
      await copyFile(template.rootDisk, folder.file("overlay"))
      await chmod(folder.file("overlay"), 0o600)
      if (uid !== null) await chown(folder.file("overlay"), uid, uid)
    })
    const { process } = yield* Effect.promise(() =>
      launch({
        binary: host.qemu.binary,
        arguments: machineArguments(shape, {
          uuid: randomUUID(),
          start: { type: "clone", memoryFile: template.memoryFile }
        }),
        folder: folder.path,
        uid,
        accelerator: shape.accelerator,
        fileMaxBytes: fileMaxBytes(shape, host.image.rootBytes),
        fileMostBytes: fileMaxBytes(shape, host.image.rootBytes),
        hasImage: false,
        life: false,
        cgroups: { joins: [], startsIn: null },
        outlives: false
      })
    )
    const machine = yield* connectMachine(folder, process, host.answerTimeoutMs)
    yield* loadState(machine, template.stateFile, { memoryIsShared: true })
    yield* Effect.promise(() => machine.qmp.execute("cont"))
    yield* runTrue(machine.guest)
    const took = performance.now() - before
    yield* disconnect(machine)
    yield* killProcess(process)
    yield* Effect.promise(() => folder.remove())
    return took
  })

const pssMiB = async (dataDir: string, sandboxId: string): Promise<number> => {
  const record = JSON.parse(await readFile(`${dataDir}/runtime/qemu/${sandboxId}/record.json`, "utf8")) as {
    process: { pid: number }
  }
  const rollup = await readFile(`/proc/${record.process.pid}/smaps_rollup`, "utf8")
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)![1]) / 1024
}

const onTheDriver = (dataDir: string) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const driver = yield* Runtime
    const host = yield* openQemuHost(settings)
    console.log(host.choice.statement)
    const spec = (sandboxId: string): SandboxSpec => ({
      sandboxId,
      generation: 1,
      vcpus: settings.sandboxVcpus,
      memoryBytes: settings.sandboxMemoryBytes,
      volumeBytes: settings.volumeBytes,
      networkEnabled: false
    })
    const create = Effect.fnUntraced(function* (sandboxId: string) {
      const before = performance.now()
      yield* driver.provision(spec(sandboxId))
      yield* runTrue(yield* driver.guest(sandboxId, 1))
      return performance.now() - before
    })
    yield* create("sbx_warm")
    yield* driver.destroy("sbx_warm")
    const [ours, bare, asleep, awake]: [Array<number>, Array<number>, Array<number>, Array<number>] = [[], [], [], []]
    for (let index = 0; index < repeats; index++) {
      bare.push(yield* bareClone(host, settings))
      const id = `sbx_bench${index}`
      ours.push(yield* create(id))
      const before = performance.now()
      yield* driver.suspend(id, 1)
      const between = performance.now()
      yield* driver.provision(spec(id))
      asleep.push(between - before)
      awake.push(performance.now() - between)
      yield* driver.destroy(id)
    }
    row("create to first command ended, in process, no spare", ours, "ms", "≤ 1.5 × bare")
    row("bare QEMU: the same template and agent to first command", bare, "ms")
    row("sleep", asleep, "ms")
    row("wake", awake, "ms", "≤ 400")
    const four = ["sbx_a", "sbx_b", "sbx_c", "sbx_d"]
    const before = performance.now()
    yield* Effect.forEach(four, create, { concurrency: 4 })
    row("four concurrently, until the last first command", [performance.now() - before], "ms")
    yield* Effect.sleep(2_000)
    row(
      "idle guest at four guests, PSS",
      yield* Effect.promise(() => Promise.all(four.map((id) => pssMiB(dataDir, id)))),
      "MiB",
      "≤ 100"
    )
    for (const id of four) yield* driver.destroy(id)
  })

const dataDir = await mkdtemp(`${tmpdir()}/atoll-bench-`)
await chmod(dataDir, 0o711)
process.env["ATOLL_DATA_DIR"] = dataDir
// Each start from its template, as bare QEMU has to.
process.env["ATOLL_VM_SPARES"] = "0"
try {
  if (parts.includes("driver"))
    await Effect.runPromise(
      Effect.scoped(onTheDriver(dataDir)).pipe(Effect.provide(layer.pipe(Layer.provideMerge(Settings.layer))))
    )
} finally {
  await rm(dataDir, { recursive: true, force: true })
  delete process.env["ATOLL_DATA_DIR"]
  delete process.env["ATOLL_VM_SPARES"]
}
if (parts.includes("http")) {
  await overHttp()
  await withoutSpares()
}
console.table(rows)
