/** Why a server ended before it served, as a sentence for the operator, from what it wrote to its log. */
import { serverLog } from "./Cluster.ts"
import { folderFault, PostgresUnusable } from "./PostgresUnusable.ts"

/** glibc keeps the segments of shm_open there. */
const memoryFolder = "/dev/shm"

/** @source PostgreSQL `src/backend/storage/ipc/dsm_impl.c`: each fault of a POSIX segment */
const memoryFault = /could not \w+ shared memory segment "\/PostgreSQL\.\d+".*?: (.+)/

const mounted = `mount -t tmpfs -o mode=1777 tmpfs ${memoryFolder}`

const memorySentence = (reason: string, uid: number): string => {
  if (/Permission denied|Operation not permitted/.test(reason)) {
    return `${memoryFolder}, in which the embedded Postgres has its shared memory, is not writable by user id ${uid}. Open it to all users (chmod 1777 ${memoryFolder}), or mount a tmpfs there (${mounted}).`
  }
  if (/No space left on device|Disk quota exceeded/.test(reason)) {
    return `${memoryFolder}, in which the embedded Postgres has its shared memory, is full. Remove what fills it, or make it larger (mount -o remount,size=1G ${memoryFolder}; for a container --shm-size=1g).`
  }
  return `The embedded Postgres cannot have its shared memory in ${memoryFolder}: ${reason.trim()}. Mount a tmpfs there (${mounted}).`
}

/**
 * @param log What the server wrote.
 * @param uid Of the user that it ran as.
 */
export const serverStartFault = (home: string, log: string, uid: number): PostgresUnusable => {
  const [, ofMemory] = memoryFault.exec(log) ?? []
  if (ofMemory !== undefined) return new PostgresUnusable({ message: memorySentence(ofMemory, uid) })
  if (/No space left on device|Disk quota exceeded/.test(log)) return folderFault(home, { code: "ENOSPC" })
  if (/Permission denied|Operation not permitted/.test(log)) return folderFault(home, { code: "EACCES" })
  const lines = log.trim().split("\n")
  const reason = lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.slice(-3).join(" ")
  return new PostgresUnusable({
    message: `The embedded Postgres did not start. It said: ${reason.trim() || "nothing"} (all of it is in ${serverLog(home)}).`
  })
}
