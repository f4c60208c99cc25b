/** A volume has no `lost+found`, and e2fsck makes one. @source e2fsck(8), debugfs(8) */

/** Runs a program that may read any bytes. */
export type RunsOnImage = (
  argv: readonly [string, ...ReadonlyArray<string>]
) => Promise<{ readonly code: number | null; readonly stdout: string }>

/** Removes what `check` makes of it, unless something was found. One that was there before stays. */
export const withoutLostFound = async (run: RunsOnImage, path: string, check: () => Promise<void>): Promise<void> => {
  const before = await run(["debugfs", "-R", "stat /lost+found", path])
  await check()
  // debugfs removes no directory that has entries.
  if (!before.stdout.includes("Inode:")) await run(["debugfs", "-w", "-R", "rmdir /lost+found", path])
}
