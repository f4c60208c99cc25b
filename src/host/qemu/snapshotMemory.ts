/** With which memory of a snapshot a boot goes on, if any: only a machine with the same devices and sizes on the same QEMU can load it. */
import { Effect } from "effect"
import type { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import type { StoredSnapshot } from "../linux/SnapshotStore.ts"
import { machineKey } from "./memoryCapture.ts"
import type { QemuHost } from "./QemuHost.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"
import type { Fork, MachineSpec, Starts } from "./Starts.ts"

/** The machine that a snapshot's memory makes: with the sizes that its source had then, until its next boot. Null: the Sandbox boots. */
export const savedIn = (
  host: QemuHost,
  starts: Starts,
  spec: MachineSpec,
  origin: StoredSnapshot
): Effect.Effect<Fork | null> => {
  if (origin.memory === null) return Effect.succeed(null)
  const { memory } = origin
  const { vcpus, memoryBytes } = memory
  const own = { ...spec, vcpus, memoryBytes }
  const shape = starts.shapeFor({ ...own, network: spec.networkEnabled })
  if (memory.machine === machineKey(host.qemu.version, shape)) return Effect.succeed({ spec: own, origin, memory })
  const why = "its memory was saved by another QEMU or with other devices"
  return Effect.as(
    Effect.logWarning(`Sandbox ${spec.sandboxId} boots from the volume of its snapshot alone: ${why}.`),
    null
  )
}

/**
 * The machine that a rollback makes of the memory that lies beside its volume (`MachineSnapshots.restore`). At the first boot since the rollback: a machine that sleeps. Null: there is no such memory, or it fits another machine than this Sandbox would have
 * now, and the volume alone counts.
 */
export const restoredIn = (
  host: QemuHost,
  starts: Starts,
  folder: SandboxFolder,
  spec: MachineSpec,
  record: MachineRecord
): Effect.Effect<MachineRecord | null, RuntimeRefused | RuntimeUnavailable> => {
  const { state, restoredMachine = null, restoredAfter = -1 } = record
  if (state !== "stopped" || restoredMachine === null || record.generation > restoredAfter) return Effect.succeed(null)
  const own = { ...spec, volumeBytes: Math.max(spec.volumeBytes, record.volumeBytes) }
  const shape = starts.shapeFor({ ...own, network: spec.networkEnabled })
  if (restoredMachine === machineKey(host.qemu.version, shape)) return starts.lieDown(folder, own, record)
  const why = "the memory of its snapshot is of another QEMU, of other sizes or with other devices"
  return Effect.as(Effect.logWarning(`Sandbox ${spec.sandboxId} boots from its restored volume alone: ${why}.`), null)
}
