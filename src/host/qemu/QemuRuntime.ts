/** The `qemu` driver: each Sandbox is a virtual machine. */
import { readFile } from "node:fs/promises"
import { Effect, Layer, Queue, Schedule, Stream } from "effect"
import { Settings } from "../../Config.ts"
import { worker } from "../../platform/worker/Worker.ts"
import {
  type ResourceSample,
  Runtime,
  type RuntimeDown,
  type RuntimeStall,
  RuntimeUnsupported
} from "../../runtime/Runtime.ts"
import { imagesOf } from "../image/HostImages.ts"
import { attempt } from "../linux/attempt.ts"
import { networkBytes } from "../linux/networkBytes.ts"
import { cpuSecondsOf } from "../linux/ProcessIdentity.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { Consoles } from "./Consoles.ts"
import { Machines } from "./Machines.ts"
import { type MachinesUnusable, openQemuHost, shapeOf, statementsOf } from "./QemuHost.ts"

const CONSOLE_INTERVAL_MS = 500
/** How often each machine is checked: whether it answers, runs, and has its network. */
const LOOK_INTERVAL_MS = 2_000
/** How often it is looked for spares of another process of this data folder that was killed. */
const ORPHANS_INTERVAL_MS = 30_000
/** How often it is looked whether somebody wants to read a volume. */
const HOLD_INTERVAL_MS = 500

/** How much of the guest's memory and QEMU's own memory is resident on the host. */
const residentBytes = async (pid: number): Promise<number | null> => {
  const text = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "")
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]
  return kibibytes === undefined ? null : Number(kibibytes) * 1024
}

/** Measured on the host, where a guest cannot falsify it. */
const sample = (machines: Machines) => (sandboxId: string, generation: number) =>
  Effect.flatMap(machines.running(sandboxId, generation), ({ machine, record }) =>
    attempt("measuring a machine", async (): Promise<ResourceSample> => {
      const { process } = machine
      const network = record.network === null ? null : networkBytes(process.pid)
      return {
        cpuSeconds: cpuSecondsOf(process),
        memoryBytes: await residentBytes(process.pid),
        volumeBytes: await allocatedBytes(machines.folderOf(sandboxId).file("volume")),
        networkRxBytes: record.network === null ? 0 : (network?.received ?? null),
        networkTxBytes: record.network === null ? 0 : (network?.sent ?? null)
      }
    })
  )

const consoleChunks = (machines: Machines) =>
  Stream.suspend(() => {
    const consoles = new Consoles()
    const look = Effect.gen(function* () {
      const sources = machines.all().map(({ machine: { qmp }, record: { sandboxId, generation } }) => ({
        ...{ sandboxId, generation, qmp },
        folder: machines.folderOf(sandboxId)
      }))
      const chunks = yield* Effect.promise(() => consoles.read(sources))
      if (chunks.length === 0) yield* Effect.sleep(CONSOLE_INTERVAL_MS)
      return chunks
    })
    return Stream.flattenIterable(Stream.fromEffectRepeat(look))
  })

export const layer: Layer.Layer<Runtime, MachinesUnusable, Settings> = Layer.effect(
  Runtime,
  Effect.gen(function* () {
    const settings = yield* Settings
    const host = yield* openQemuHost(settings)
    const downs = yield* Queue.unbounded<RuntimeDown>()
    const stalls = yield* Queue.unbounded<RuntimeStall>()
    const context = yield* Effect.context<never>()
    const background = { fork: Effect.runForkWith(context), run: Effect.runPromiseWith(context) }
    const machines = new Machines(host, settings, { downs, stalls }, background)
    yield* Effect.addFinalizer(() => machines.release)
    // In the background: a call for one machine waits for that machine only, and a guest that answers slowly delays no other start.
    yield* Effect.forkScoped(yield* machines.settle)
    yield* worker("machine networks", machines.mendNetworks.pipe(Effect.repeat(Schedule.spaced(LOOK_INTERVAL_MS))))
    yield* worker("machine looks", machines.look.pipe(Effect.repeat(Schedule.spaced(LOOK_INTERVAL_MS))))
    yield* worker("machine spares", machines.endOrphans.pipe(Effect.repeat(Schedule.spaced(ORPHANS_INTERVAL_MS))))
    yield* worker("machine holds", machines.holdStill.pipe(Effect.repeat(Schedule.spaced(HOLD_INTERVAL_MS))))
    // Makes templates and spares before the first Sandbox needs them.
    if (host.qemu.clones) {
      yield* Effect.forEach([true, false], (network) => Effect.ignore(machines.prepare(shapeOf(settings, network))), {
        discard: true
      }).pipe(Effect.forkScoped)
    }
    return Runtime.of({
      driver: "qemu",
      kind: "vm",
      capabilities: {
        suspend: host.qemu.clones,
        memorySnapshots: host.qemu.clones,
        networkFiltered: host.networkObstacle === null,
        networkRefused: () => null,
        statements: statementsOf(host)
      },
      provision: (spec, turn) => machines.provision(spec, turn),
      resize: (sandboxId, generation, { volumeBytes }) => machines.resize(sandboxId, generation, volumeBytes),
      stop: (sandboxId, generation) => machines.stop(sandboxId, generation),
      destroy: (sandboxId) => machines.destroy(sandboxId),
      suspend: (sandboxId, generation) =>
        host.qemu.clones
          ? machines.suspend(sandboxId, generation)
          : Effect.fail(new RuntimeUnsupported({ message: "This host's QEMU is older than 8.2 and cannot do it." })),
      snapshots: machines.snapshots,
      images: imagesOf(machines.images.images),
      inventory: machines.inventory,
      guest: (sandboxId, generation) => machines.guest(sandboxId, generation),
      connect: (sandboxId, generation) => machines.connect(sandboxId, generation),
      sample: sample(machines),
      downs: Stream.fromQueue(downs),
      stalls: Stream.fromQueue(stalls),
      console: consoleChunks(machines)
    })
  })
)
