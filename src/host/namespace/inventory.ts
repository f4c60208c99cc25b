/** What exists of Sandboxes on this host: by their folders, and by the marks and cgroups of processes whose folder is gone. */
import type { InventoryEntry } from "../../runtime/Runtime.ts"
import { type CgroupHost, cgroupNames } from "../linux/cgroups.ts"
import { isSandboxId, isSpareName } from "../linux/SandboxRecords.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { LiveSandboxes } from "./LiveSandboxes.ts"
import { markedProcesses } from "./markedProcesses.ts"
import { hasNotAnswered, isUp, recordedPids } from "./SandboxState.ts"

/** Spares, which have no owner, are left out. */
export const inventoryOf = (
  layout: HostLayout,
  cgroups: CgroupHost,
  live: LiveSandboxes
): ReadonlyArray<InventoryEntry> => {
  const entries = new Map<string, InventoryEntry>()
  const up = new Map([...live.entries()].flatMap(([id, { record }]) => (isUp(record) ? [[id, record]] : [])))
  const sandboxIds = layout.sandboxIds()
  // Their marks say nothing new, and they are nearly all marked processes of a host.
  const known = new Set(sandboxIds.flatMap((id) => up.get(id) ?? []).flatMap(recordedPids))
  const marked = markedProcesses(layout.instance, (pid) => known.has(pid))
  const marks = new Map(marked.map(({ name, generation }) => [name, generation]))
  for (const sandboxId of sandboxIds) {
    const live = up.get(sandboxId)
    // Another process of this service may have started a runtime since; only the record has it.
    const record = live ?? layout.state(sandboxId).runtime()
    // A boot continues without the process that started it.
    const booting = record === null || hasNotAnswered(record) ? (marks.get(layout.nameOf(sandboxId)) ?? null) : null
    const isRunning = live !== undefined || (record !== null && isUp(record))
    const generation = isRunning && record !== null ? record.generation : booting
    entries.set(sandboxId, { sandboxId, state: generation === null ? "volume" : "running", generation })
  }
  const grouped = cgroupNames(cgroups, (name) => isSandboxId(name) || isSpareName(name))
  for (const name of withoutFolder(layout, [...marks.keys(), ...grouped])) {
    entries.set(name, { sandboxId: name, state: "running", generation: marks.get(name) ?? null })
  }
  return [...entries.values()]
}

/** Those of the names that no folder has: what runs under them belongs to no Sandbox and to no spare. */
const withoutFolder = (layout: HostLayout, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  let left = [...new Set(names)]
  // Twice: a spare that is handed over during one listing may be found under neither name.
  for (let look = 0; look < 2 && left.length > 0; look++) {
    const owned = layout.sandboxIds().map((sandboxId) => layout.nameOf(sandboxId))
    const known = new Set([...layout.spareNames(), ...owned])
    left = left.filter((name) => !known.has(name))
  }
  return left
}
