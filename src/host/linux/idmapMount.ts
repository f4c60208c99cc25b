/** Shows the files of one user on a mounted file system as those of another. @see native/idmapmount.c */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { UserRange } from "./HostUsers.ts"
import { hostCommand, mustRun } from "./hostCommand.ts"
import { mountOptionsOf } from "./mountTable.ts"

const PROGRAM = fileURLToPath(new URL("native/idmapmount.x64", import.meta.url))
/** A million files take less. */
const CHOWN_TIMEOUT_MS = 300_000
/** The exit code of the program when nothing is mounted any more. */
const UNMOUNTED = 7

const isHere = process.arch === "x64" && existsSync(PROGRAM)

/**
 * Gives the files of user `from` to user `to`: as the mount shows them, or on the disk where the kernel is older than 5.12. Resolves with the user who
 * owns them on the disk. Nothing else may use the mount.
 *
 * @param range Users whose files stay theirs; the files of all others belong to no one. Not the user `from`.
 */
export const giveFiles = async (
  folder: string,
  from: number,
  to: number,
  range: UserRange | null = null
): Promise<number> => {
  if (from === to) return to
  // By an earlier call: a Sandbox keeps its user.
  if (mountOptionsOf(folder)?.includes("idmapped")) return from
  const kept = range === null ? "" : `${range.first}\0${range.count}\0`
  const { code } = isHere ? await hostCommand([PROGRAM], `${folder}\0${from}\0${to}\0${kept}`) : { code: 127 }
  if (code === 0) return from
  if (code === UNMOUNTED) throw new Error(`${folder} was unmounted, and could not be mounted for user ${to}`)
  // Does not follow links.
  await mustRun(["chown", "-hR", `--from=${from}`, "--", `${to}:${to}`, folder], null, { timeoutMs: CHOWN_TIMEOUT_MS })
  return to
}
