/**
 * Holding a volume still while its image is read, from another process than the one that serves.
 *
 * `<image>.held` names the process that holds it. Whoever would mount the volume, or unmount it for good, waits until that one has let go or is
 * dead. A mounted volume is frozen: what is written to it waits, and its image is what the file system is.
 *
 * @source ioctl_fsfreeze(2), fsfreeze(8)
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { rm, stat } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { HOST_ENVIRONMENT } from "../linux/hostCommand.ts"
import { identify, isAlive } from "../linux/ProcessIdentity.ts"
import { readRecord, WrittenProcess, writeRecord } from "../linux/SandboxRecords.ts"

const POLL_MS = 20
const TRIES = 5

const decode = Schema.decodeUnknownOption(WrittenProcess)

const markOf = (image: string): string => `${image}.held`

export const isHeld = (image: string): boolean => {
  const path = markOf(image)
  if (!existsSync(path)) return false
  const holder = Option.getOrNull(decode(readRecord(path)))
  return holder !== null && isAlive(holder)
}

export const letGo = async (image: string): Promise<void> => {
  while (isHeld(image)) await sleep(POLL_MS)
}

/**
 * It stands in the volume, so nobody can unmount that; and it thaws when we let go of its input, which our death does too.
 * Ends with 3 when nothing is mounted there.
 */
const FREEZER = `trap "" INT TERM HUP
cd "$1" 2>/dev/null && mountpoint -q . || exit 3
fsfreeze -f . || exit 1
echo held
cat >/dev/null
fsfreeze -u .`

const frozen = async (folder: string) => {
  const child = spawn("/bin/sh", ["-c", FREEZER, "sh", folder], {
    cwd: "/",
    env: HOST_ENVIRONMENT,
    stdio: ["pipe", "pipe", "pipe"]
  })
  let said = ""
  child.stderr.on("data", (chunk) => {
    said += chunk
  })
  const ended = once(child, "exit")
  const first = await Promise.race([
    once(child.stdout, "data").then(() => null),
    ended.then(([code]) => code as number)
  ])
  if (first === 3) return null
  if (first !== null) throw new Error(`${folder} cannot be held still: ${said.trim()}`)
  return async () => {
    child.stdin.end()
    const [code] = await ended
    if (code !== 0) throw new Error(`${folder} may still be frozen (fsfreeze -u ${folder}): ${said.trim()}`)
  }
}

const changed = async (image: string): Promise<bigint> => (await stat(image, { bigint: true })).mtimeNs

/**
 * Reads an image that nobody writes meanwhile. `read` may be called again, when somebody did after all.
 *
 * @param folder Where it is mounted, if it is.
 * @param isMounted Whether it is now.
 */
export const holdingStill = async <A>(
  image: string,
  folder: string,
  isMounted: () => boolean,
  read: () => Promise<A>
): Promise<A> => {
  await writeRecord(markOf(image), identify(process.pid), { durable: false })
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const thaw = await frozen(folder)
      if (thaw !== null) {
        try {
          return await read()
        } finally {
          await thaw()
        }
      }
      // Whoever was about to mount it when the mark was made has done so by now, or it stays unmounted.
      const before = await changed(image)
      if (isMounted()) continue
      const result = await read()
      if (!isMounted() && (await changed(image)) === before) return result
    }
    throw new Error(`${image} is started and stopped all the time`)
  } finally {
    await rm(markOf(image), { force: true })
  }
}
