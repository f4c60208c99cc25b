/**
 * The user that the server runs as: Postgres refuses to run as root.
 *
 * @source lab.md "Embedded Postgres"
 */
import { readFile, realpath, stat } from "node:fs/promises"
import { dirname } from "node:path"
import { PostgresUnusable } from "./PostgresUnusable.ts"

export interface ServerUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** True when this process is root and must give files to the user. */
  readonly foreign: boolean
}

const account = (passwd: string, matches: (fields: ReadonlyArray<string>) => boolean): ServerUser | undefined => {
  const fields = passwd
    .split("\n")
    .map((line) => line.split(":"))
    .find(matches)
  return fields && { name: fields[0]!, uid: Number(fields[2]), gid: Number(fields[3]), foreign: true }
}

/**
 * This process's own user; as root, the owner of the existing cluster, otherwise `postgres`, otherwise `nobody`.
 *
 * @param clusterPath The cluster's folder; need not exist.
 */
export const serverUser = async (clusterPath: string): Promise<ServerUser> => {
  const owner = await stat(clusterPath).then(
    (found) => found.uid,
    () => undefined
  )
  const uid = process.getuid!()
  if (uid !== 0) {
    if (owner !== undefined && owner !== uid) {
      throw new PostgresUnusable({
        message: `The database in ${clusterPath} belongs to user id ${owner}, but Atoll runs as user id ${uid}. Run it as its owner, or set ATOLL_DATA_DIR to another folder.`
      })
    }
    return { name: String(uid), uid, gid: process.getgid!(), foreign: false }
  }
  const passwd = await readFile("/etc/passwd", "utf8")
  const found =
    owner !== undefined && owner !== 0
      ? account(passwd, (fields) => Number(fields[2]) === owner)
      : (account(passwd, (fields) => fields[0] === "postgres") ?? account(passwd, (fields) => fields[0] === "nobody"))
  if (found === undefined) {
    throw new PostgresUnusable({
      message:
        "Postgres does not run as root, and /etc/passwd has no user postgres or nobody. Add one (useradd --system postgres), or set DATABASE_URL."
    })
  }
  return found
}

/** The first folder on the way to `path` that `user` may not enter, or null. */
export const closedFolder = async (path: string, user: ServerUser): Promise<string | null> => {
  if (!user.foreign) return null
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    const { uid, gid, mode } = await stat(folder)
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return folder
    if (folder === "/") return null
  }
}
