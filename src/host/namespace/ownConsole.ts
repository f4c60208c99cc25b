/**
 * The console of a Sandbox that is started ahead: a file in a small tmpfs in its folder instead of one on its volume, so that nothing in the Sandbox holds
 * the volume, and the Sandbox can be given another one (`VolumeGift.ts`). Its size is bounded, and its pages count toward the Sandbox's memory.
 */
import { existsSync } from "node:fs"
import { mkdir, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { hostCommand, mustRun } from "../linux/hostCommand.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { RuntimeRecord, SandboxState } from "./SandboxState.ts"

/** `ConsoleTail` shortens a file of one megabyte. */
const OPTIONS = "nosuid,nodev,noexec,mode=700,size=2m,nr_inodes=4"

const folderOf = (state: SandboxState): string => join(state.folder, "console")

/** Safe to repeat after `removeOwnConsole`. */
export const makeOwnConsole = async (state: SandboxState): Promise<void> => {
  await mkdir(folderOf(state), { recursive: true, mode: 0o700 })
  await mustRun(["mount", "-t", "tmpfs", "-o", OPTIONS, "tmpfs", folderOf(state)])
}

/** Does nothing where there is none. */
export const removeOwnConsole = async (state: SandboxState): Promise<void> => {
  const folder = folderOf(state)
  if (!existsSync(folder)) return
  // Fails where nothing is mounted, as after a restart of the host.
  await hostCommand(["umount", "-l", folder])
  await rmdir(folder)
}

/** The path of a generation's console. */
export const consoleOf = (
  layout: HostLayout,
  state: SandboxState,
  { generation, ownConsole }: Pick<RuntimeRecord, "generation" | "ownConsole">
): string => (ownConsole === true ? join(folderOf(state), "output") : layout.console(state, generation))
