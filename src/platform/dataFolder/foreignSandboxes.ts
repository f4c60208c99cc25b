/**
 * Detects Sandboxes that another user's service left in a data folder.
 *
 * Root may continue with any user's folder, but no other user with root's: its Sandboxes run as users that only root can signal. They would count as
 * crashed, and never end.
 */
import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"

const namesIn = (folder: string): Promise<ReadonlyArray<string>> =>
  readdir(folder).then(
    (names) => names.filter((name) => !name.startsWith(".")),
    () => []
  )

/** Rejects with a sentence if there are Sandboxes that `user` cannot act for. */
export const refuseForeignSandboxes = async (dataDir: string, user = process.getuid?.() ?? 0): Promise<void> => {
  if (user === 0) return
  const runtimes = join(dataDir, "runtime")
  for (const runtime of await namesIn(runtimes)) {
    for (const sandbox of await namesIn(join(runtimes, runtime))) {
      const { uid } = await stat(join(runtimes, runtime, sandbox))
      if (uid === user) continue
      throw new Error(
        `user id ${uid} started its Sandboxes, and user id ${user} cannot act for them. Start Atoll as user id ${uid}, or set ATOLL_DATA_DIR to another folder`
      )
    }
  }
}
