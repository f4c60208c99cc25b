import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, realpathSync } from "node:fs"

/** Unmounts the volume pools of the data folders in `folder`: a killed service leaves its own mounted, and the folder could not be removed. */
export const unmountPools = (folder: string): void => {
  if (!existsSync(folder)) return
  const within = `${realpathSync(folder)}/`
  const paths = readFileSync("/proc/self/mounts", "latin1")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(within) && path.endsWith("/runtime/namespace"))
  for (const path of paths) execFileSync("umount", ["--lazy", path])
}
