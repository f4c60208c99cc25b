import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, truncateSync, writeFileSync } from "node:fs"
import { Effect } from "effect"

/** As root: a file system of this size, mounted below `folder`, sparse, gone with the scope. */
export const smallDisk = (folder: string, bytes: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const image = `${folder}/disk`
      const disk = `${folder}/mounted`
      writeFileSync(image, "")
      truncateSync(image, bytes)
      execFileSync("mke2fs", ["-q", "-F", "-t", "ext4", "-m", "0", "-O", "^has_journal", image])
      mkdirSync(disk)
      execFileSync("mount", ["-o", "loop", image, disk])
      // For the users of Sandboxes.
      chmodSync(folder, 0o755)
      return disk
    }),
    (disk) => Effect.sync(() => execFileSync("umount", ["--lazy", disk]))
  )
