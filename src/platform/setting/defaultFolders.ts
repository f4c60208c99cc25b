/** The folders that Atoll uses where no setting names one. */
import { createHash } from "node:crypto"
import { statSync } from "node:fs"
import { basename, dirname, join } from "node:path"

const closedToOthers = (path: string): boolean =>
  (statSync(path).mode & 0o001) === 0 || (path !== "/" && closedToOthers(dirname(path)))

/**
 * `.atoll` here. As root, the database and the Sandboxes run as other users, who cannot reach a folder below /root, for example.
 * Then it is in /var/lib/atoll, with this folder's name and a digest of its path.
 */
export const reachableDataDir = (): string => {
  const here = process.cwd()
  if (process.getuid?.() !== 0 || !closedToOthers(here)) return join(here, ".atoll")
  return join("/var/lib/atoll", `${basename(here)}-${createHash("sha256").update(here).digest("hex").slice(0, 8)}`)
}

/** Not below root's home folder: a machine's user could not reach it. */
export const vmCacheDir = (): string => {
  if (process.getuid?.() === 0) return "/var/cache/atoll/vm"
  return join(process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "/tmp", ".cache"), "atoll/vm")
}
