import { findByArgument, isAlive, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** The running QEMU process of a record, even if the service was killed before it recorded the pid. */
export const processOf = (record: MachineRecord): ProcessIdentity | null => {
  if (record.process !== null) return isAlive(record.process) ? record.process : null
  if (record.state !== "starting" && record.state !== "suspended") return null
  // It belongs to root until it has become the machine's user.
  return findByArgument(record.uuid, (uid) => uid === record.uid || uid === process.getuid?.())
}
