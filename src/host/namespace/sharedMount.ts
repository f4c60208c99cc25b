/**
 * A separate file system for the files that all Sandboxes of a host share. A mount table names a bind by its path inside its file system, so a
 * Sandbox reads `/etc-online` there and no path of the host.
 *
 * @source proc_pid_mountinfo(5), field 4
 */
import { existsSync } from "node:fs"
import { rmdir } from "node:fs/promises"
import { hostCommand } from "../linux/hostCommand.ts"
import { isMounted } from "../linux/mountTable.ts"

/** Enough for several versions of an agent of 100 KiB, and two folders like /etc. */
const SIZE_BYTES = 64 * 1024 ** 2

/** Safe to repeat. Where the mount fails, the plain folder is used. */
export const mountShared = async (folder: string): Promise<void> => {
  if (isMounted(folder)) return
  await hostCommand(["mount", "-t", "tmpfs", "-o", `nosuid,nodev,mode=711,size=${SIZE_BYTES}`, "tmpfs", folder])
}

/** Lazy, so running Sandboxes keep their binds. */
export const unmountShared = async (folder: string): Promise<void> => {
  if (!existsSync(folder)) return
  if (isMounted(folder)) await hostCommand(["umount", "-l", folder])
  await rmdir(folder).catch(() => {})
}
