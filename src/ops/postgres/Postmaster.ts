/**
 * One running server: found by its postmaster.pid, started detached, stopped by signal.
 *
 * @source PostgreSQL `src/include/utils/pidfile.h` (the lines of postmaster.pid), lab.md "Embedded Postgres"
 */
import { spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, readlinkSync } from "node:fs"
import { chown, open, readFile, realpath, rename, rm, stat } from "node:fs/promises"
import { availableParallelism, totalmem } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { Binaries } from "./Binaries.ts"
import { dataFolder, serverLog, socketFile } from "./Cluster.ts"
import { folderFault, PostgresUnusable } from "./PostgresUnusable.ts"
import type { ServerUser } from "./ServerUser.ts"
import { serverStartFault } from "./serverStartFault.ts"

/** Crash recovery replays at most `max_wal_size`; a minute is plenty for it. */
const readyWithinMs = 60_000
/** A fast shutdown writes one checkpoint. */
const stoppedWithinMs = 60_000
const pollMs = 5
const logMaxBytes = 8 * 1024 ** 2
const mebibyte = 1024 ** 2

export interface Postmaster {
  readonly pid: number
  readonly socketFolder: string
  /** Resolves when it has ended; null where there is no such event, because another process started it. */
  readonly ended: Promise<void> | null
}

interface PidFile {
  readonly pid: number
  readonly socketFolder: string
  readonly status: string
}

const readPidFile = async (home: string): Promise<PidFile | null> => {
  const text = await readFile(join(dataFolder(home), "postmaster.pid"), "utf8").catch(() => "")
  const lines = text.split("\n")
  const pid = Number(lines[0])
  return Number.isSafeInteger(pid) && pid > 0
    ? { pid, socketFolder: lines[4] ?? "", status: (lines[7] ?? "").trim() }
    : null
}

/**
 * Whether that process is a live postgres of that data folder, and not a zombie or another program with the same pid.
 *
 * @param data The data folder's real path.
 */
export const runs = (pid: number, data: string): boolean => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    const end = text.lastIndexOf(")")
    if (text.slice(text.indexOf("(") + 1, end) !== "postgres" || /[ZX]/.test(text.charAt(end + 2))) return false
  } catch {
    return false
  }
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === data
  } catch {
    // Root without CAP_SYS_PTRACE (in a container) may not read another user's cwd, but every user may read the arguments.
    return commandLine(pid).includes(data)
  }
}

const commandLine = (pid: number): ReadonlyArray<string> => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
  } catch {
    return []
  }
}

/** The data folder's real path, as `/proc` shows it. */
export const dataPath = (home: string): Promise<string> => realpath(dataFolder(home)).catch(() => dataFolder(home))

const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value))

const serverSettings = (socketFolder: string, durable: boolean): ReadonlyArray<string> => {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  const sharedMiB = durable ? clamp(Math.floor(memory / mebibyte / 32), 32, 512) : 32
  const values: Record<string, string> = {
    listen_addresses: "",
    unix_socket_directories: socketFolder,
    unix_socket_permissions: "0700",
    cluster_name: "atoll",
    max_connections: "200",
    shared_buffers: `${sharedMiB}MB`,
    effective_cache_size: `${sharedMiB * 4}MB`,
    synchronous_commit: "on",
    fsync: durable ? "on" : "off",
    full_page_writes: durable ? "on" : "off",
    // Test data is in memory anyway, and this file is removed with it.
    dynamic_shared_memory_type: durable ? "posix" : "mmap",
    max_wal_size: "1GB",
    min_wal_size: "128MB",
    wal_level: durable ? "replica" : "minimal",
    max_wal_senders: durable ? "2" : "0",
    checkpoint_timeout: "10min",
    random_page_cost: "1.1",
    jit: "off",
    max_parallel_workers_per_gather: availableParallelism() > 4 ? "2" : "0",
    // LOG ranks above ERROR: the server's own actions are logged, failed statements (and the values in them) are not.
    log_min_messages: "log",
    log_checkpoints: "off",
    log_timezone: "UTC",
    timezone: "UTC"
  }
  return Object.entries(values).flatMap(([name, value]) => ["-c", `${name}=${value}`])
}

const openLog = async (home: string, user: ServerUser): Promise<number> => {
  const path = serverLog(home)
  const found = await stat(path).catch(() => null)
  if (found !== null && found.size > logMaxBytes) await rename(path, `${path}.1`)
  try {
    const descriptor = openSync(path, "a", 0o600)
    if (user.foreign) await chown(path, user.uid, user.gid)
    return descriptor
  } catch (cause) {
    throw folderFault(home, cause)
  }
}

const logSince = async (home: string, offset: number): Promise<string> => {
  const file = await open(serverLog(home), "r")
  try {
    const buffer = Buffer.alloc(8192)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
    return buffer.toString("utf8", 0, bytesRead)
  } finally {
    await file.close()
  }
}

interface Started {
  readonly pid: number | undefined
  readonly exited: () => boolean
  readonly ended: Promise<void>
  readonly logOffset: number
}

const spawnServer = async (
  home: string,
  socketFolder: string,
  binaries: Binaries,
  user: ServerUser,
  durable: boolean
): Promise<Started> => {
  const data = await dataPath(home)
  const log = await openLog(home, user)
  try {
    const logOffset = (await stat(serverLog(home))).size
    const child = spawn(join(binaries.folder, "bin/postgres"), ["-D", data, ...serverSettings(socketFolder, durable)], {
      cwd: "/",
      env: { LC_ALL: "C", PATH: "/usr/bin:/bin" },
      // Its own session: a Ctrl-C for Atoll does not reach it, and it outlives this process.
      detached: true,
      stdio: ["ignore", log, log],
      ...(user.foreign ? { uid: user.uid, gid: user.gid } : {})
    })
    let exited = false
    const ended = new Promise<void>((resolve) => {
      for (const event of ["exit", "error"]) child.once(event, () => resolve())
    }).then(() => {
      exited = true
    })
    child.unref()
    return { pid: child.pid, exited: () => exited, ended, logOffset }
  } finally {
    closeSync(log)
  }
}

/** Removes the leftovers of a dead server: Postgres itself refuses to start if the pid now belongs to another program. */
const clearStaleFiles = async (home: string, socketFolder: string): Promise<void> => {
  await rm(join(dataFolder(home), "postmaster.pid"), { force: true })
  // A server that was started by hand may have had its socket in a shared folder.
  if (((await stat(socketFolder)).mode & 0o077) !== 0) return
  await rm(socketFile(socketFolder), { force: true })
  await rm(`${socketFile(socketFolder)}.lock`, { force: true })
}

/** Adopts the server that runs on this cluster, or starts one. Returns when it accepts connections. The caller holds the lock, and the cluster exists. */
export const ensureRunning = async (
  home: string,
  socketFolder: string,
  binaries: Binaries,
  user: ServerUser,
  durable: boolean
): Promise<Postmaster> => {
  const data = await dataPath(home)
  const deadline = performance.now() + readyWithinMs
  let started: Started | null = null
  for (; performance.now() < deadline; await sleep(pollMs)) {
    const file = await readPidFile(home)
    if (file !== null && runs(file.pid, data)) {
      const { pid, socketFolder } = file
      if (file.status === "ready") return { pid, socketFolder, ended: started?.pid === pid ? started.ended : null }
    } else if (started === null) {
      await clearStaleFiles(home, socketFolder)
      started = await spawnServer(home, socketFolder, binaries, user, durable)
    } else if (started.exited()) {
      const log = await logSince(home, started.logOffset)
      // The last backends of a killed server are still exiting.
      if (!/pre-existing shared memory block|lock file ".*" already exists/.test(log))
        throw serverStartFault(home, log, user.uid)
      await sleep(50)
      started = null
    }
  }
  throw new PostgresUnusable({
    message: `The embedded Postgres was not ready within ${readyWithinMs / 1000} s; see ${serverLog(home)}. If it is still recovering, start Atoll again in a while.`
  })
}

/** Requests a fast shutdown (which disconnects clients and writes a checkpoint) and waits for the end. The caller holds the lock. */
export const stopServer = async (home: string): Promise<void> => {
  const data = await dataPath(home)
  const file = await readPidFile(home)
  if (file === null || !runs(file.pid, data)) return
  const deadline = performance.now() + stoppedWithinMs
  process.kill(file.pid, "SIGINT")
  while (runs(file.pid, data)) {
    if (performance.now() > deadline) {
      throw new PostgresUnusable({
        message: `The embedded Postgres (process ${file.pid}) did not stop; see ${serverLog(home)}.`
      })
    }
    await sleep(pollMs)
  }
}
