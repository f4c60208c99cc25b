/**
 * The folder of one embedded cluster, and the data in it.
 *
 *     <home>/lock      held exclusively while a process starts or stops the server
 *     <home>/users     held shared by every process that uses the server
 *     <home>/data      the cluster, made by initdb
 *     <home>/socket    the private socket folder (elsewhere if this path is too long for a socket)
 *     <home>/server.log
 */
import { spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { chmod, chown, lstat, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Binaries } from "./Binaries.ts"
import { folderFault, PostgresUnusable } from "./PostgresUnusable.ts"
import { closedFolder, type ServerUser } from "./ServerUser.ts"

/** Longest path of a unix socket, in bytes: `sun_path` without its NUL. @source unix(7) */
const socketPathMaxBytes = 107
const socketName = ".s.PGSQL.5432"

export const dataFolder = (home: string): string => join(home, "data")
export const serverLog = (home: string): string => join(home, "server.log")
export const socketFile = (socketFolder: string): string => join(socketFolder, socketName)

/** Like a recursive mkdir; Node's own never returns on a file system that cannot make folders (/proc). */
const makeFolder = async (path: string, mode: number): Promise<void> => {
  try {
    await mkdir(path, { mode })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === "EEXIST") return
    if (code !== "ENOENT" || (await stat(dirname(path)).catch(() => null)) !== null) throw cause
    await makeFolder(dirname(path), mode)
    await mkdir(path, { mode }).catch((second: NodeJS.ErrnoException) => {
      if (second.code !== "EEXIST") throw second
    })
  }
}

const ownFolder = async (path: string, user: ServerUser): Promise<void> => {
  await makeFolder(path, 0o700)
  const found = await lstat(path)
  if (!found.isDirectory())
    throw new PostgresUnusable({ message: `${path} is not a folder. Remove it and start again.` })
  if (found.uid !== user.uid && !user.foreign) {
    throw new PostgresUnusable({
      message: `${path} belongs to user id ${found.uid} instead of ${user.uid}. Run Atoll as its owner, or set ATOLL_DATA_DIR to another folder.`
    })
  }
  if (user.foreign) await chown(path, user.uid, user.gid)
  await chmod(path, 0o700)
}

/** Makes the home folder, private to the server's user. */
export const prepareHome = async (home: string, user: ServerUser): Promise<void> => {
  try {
    await makeFolder(dirname(home), 0o755)
    await ownFolder(home, user)
  } catch (cause) {
    throw folderFault(home, cause)
  }
  const closed = await closedFolder(home, user)
  if (closed !== null) {
    throw new PostgresUnusable({
      message: `The database runs as user ${user.name}, who may not enter ${closed} on the way to ${home}. Set ATOLL_DATA_DIR to a folder that all may reach, such as /var/lib/atoll.`
    })
  }
}

/** A folder for the socket that only the server's user can enter, with a path short enough for a socket. */
export const prepareSocketFolder = async (home: string, user: ServerUser): Promise<string> => {
  const digest = createHash("sha256").update(home).digest("hex").slice(0, 12)
  const fitting = [join(home, "socket"), join(tmpdir(), `atoll-pg-${digest}`), `/tmp/atoll-pg-${digest}`].find(
    (folder) => Buffer.byteLength(socketFile(folder)) <= socketPathMaxBytes
  )!
  try {
    await ownFolder(fitting, user)
  } catch (cause) {
    throw folderFault(fitting, cause)
  }
  return fitting
}

const run = (
  program: string,
  args: ReadonlyArray<string>,
  user: ServerUser
): Promise<{ code: number; output: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: "/",
      env: { LC_ALL: "C", PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      stdio: ["ignore", "pipe", "pipe"],
      ...(user.foreign ? { uid: user.uid, gid: user.gid } : {})
    })
    let output = ""
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-4096)
    }
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    child.once("error", reject)
    child.once("close", (code) => resolve({ code: code ?? -1, output }))
  })

const initialise = async (home: string, binaries: Binaries, user: ServerUser): Promise<void> => {
  // Leftovers of killed starts. Their initdb may still run; then a later start removes the folder.
  for (const name of await readdir(home)) {
    if (name.startsWith("data.new-")) await rm(join(home, name), { recursive: true, force: true }).catch(() => {})
  }
  const fresh = join(home, `data.new-${randomBytes(6).toString("hex")}`)
  const { code, output } = await run(
    join(binaries.folder, "bin/initdb"),
    ["-D", fresh, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums"],
    user
  )
  if (code !== 0) {
    await rm(fresh, { recursive: true, force: true })
    if (/No space left on device|Disk quota exceeded/.test(output)) throw folderFault(home, { code: "ENOSPC" })
    throw new PostgresUnusable({
      message: `initdb could not make a database in ${home}. It said: ${output.trim().split("\n").slice(-3).join(" ")}`
    })
  }
  await rename(fresh, dataFolder(home))
}

/** Makes the cluster if it is missing, and refuses one of another major version. The caller holds the lock. */
export const prepareCluster = async (home: string, binaries: Binaries, user: ServerUser): Promise<void> => {
  const data = dataFolder(home)
  const version = await readFile(join(data, "PG_VERSION"), "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return null
    throw folderFault(data, cause)
  })
  if (version === null) {
    const rest = await readdir(data).catch(() => [])
    if (rest.length > 0) {
      throw new PostgresUnusable({
        message: `${data} is not empty, yet holds no Postgres database (no PG_VERSION). Move it away, or set ATOLL_DATA_DIR to another folder.`
      })
    }
    return initialise(home, binaries, user)
  }
  if (version.trim() !== binaries.major) {
    throw new PostgresUnusable({
      message: `The database in ${data} was made by Postgres ${version.trim()}, but this Atoll brings Postgres ${binaries.major}. Migrate it with the pg_dump of Postgres ${version.trim()}, or set ATOLL_DATA_DIR to another folder.`
    })
  }
}
