import { findByArgument, isAlive, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** The QEMU process of a record that runs, also when the service was killed before it wrote the pid down. */
export const processOf = (record: MachineRecord): ProcessIdentity | null => {
  if (record.process !== null) return isAlive(record.process) ? record.process : null
  if (record.state !== "starting" && record.state !== "suspended") return null
  // Root's until it has become the machine's user.
  return findByArgument(record.uuid, (uid) => uid === record.uid || uid === process.getuid?.())
}
