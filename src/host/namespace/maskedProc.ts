/**
 * Hides what /proc tells about the host and not about the Sandbox: disks and their activity, the boot command line, devices, other processes' locks
 * by inode. A Sandbox sees empty files and folders instead. Files that programs need stay: cpuinfo, meminfo, stat, loadavg, uptime, version,
 * filesystems, sys.
 *
 * @source proc(5); Docker's and Podman's default masked paths, which are these and fewer
 */
import { existsSync } from "node:fs"
import { chmod, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { View } from "../linux/limitViews.ts"

/** With the header line that readers of a table expect. */
const FILES: Readonly<Record<string, string>> = {
  cmdline: "\n",
  config: "",
  "config.gz": "",
  consoles: "",
  devices: "Character devices:\n\nBlock devices:\n",
  diskstats: "",
  interrupts: "",
  iomem: "",
  ioports: "",
  kallsyms: "",
  "key-users": "",
  locks: "",
  mdstat: "",
  misc: "",
  modules: "",
  mtrr: "",
  partitions: "major minor  #blocks  name\n\n",
  sched_debug: "",
  swaps: "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
  timer_list: ""
}

const FOLDERS = ["acpi", "asound", "bus", "driver", "fs", "irq", "scsi"]

const EMPTY = "empty"

/** Writes the empty files and folders. */
export const writeMasks = async (folder: string): Promise<void> => {
  await mkdir(join(folder, EMPTY), { recursive: true })
  // By chmod, because the umask reduces the mode of mkdir.
  await chmod(folder, 0o755)
  await chmod(join(folder, EMPTY), 0o555)
  for (const [name, text] of Object.entries(FILES)) {
    const path = join(folder, name)
    if (existsSync(path)) continue
    await writeFile(path, text)
    await chmod(path, 0o444)
  }
}

/** Only for files that this kernel has. */
export const maskViews = (folder: string): ReadonlyArray<View> =>
  [
    ...Object.keys(FILES).map((name) => ({ from: join(folder, name), to: `/proc/${name}` })),
    ...FOLDERS.map((name) => ({ from: join(folder, EMPTY), to: `/proc/${name}` }))
  ].filter(({ to }) => existsSync(to))
