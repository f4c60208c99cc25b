/** What a record says of its machine now. */
import type { InventoryEntry } from "../../runtime/Runtime.ts"
import { processOf } from "./recordedProcess.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** It runs, or was frozen and can go on. */
export const isUp = (record: MachineRecord): boolean => record.state === "suspended" || processOf(record) !== null

export const entryOf = (sandboxId: string, record: MachineRecord | null): InventoryEntry => {
  if (record?.state === "suspended") return { sandboxId, state: "suspended", generation: record.generation }
  if (record !== null && processOf(record) !== null) {
    return { sandboxId, state: "running", generation: record.generation }
  }
  return { sandboxId, state: "volume", generation: null }
}
