/**
 * Holding a volume still while its image is read, from another process than the one that serves.
 *
 * A mounted volume is frozen: what is written to it waits, and its image is what the file system is. One that is not is not mounted before it is
 * let go (`holdMark.ts`).
 *
 * @source ioctl_fsfreeze(2), fsfreeze(8)
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { hold, isAbandoned, release } from "../linux/holdMark.ts"
import { HOST_ENVIRONMENT, hostCommand } from "../linux/hostCommand.ts"
import { type StillVolume, writtenAt } from "../linux/StillVolume.ts"

/** Between a look at whether it is frozen and one at whether it is mounted it may be mounted. */
const TRIES = 5

/**
 * It stands in the volume, so nobody can unmount that; and it thaws when we let go of its input, which our death does too.
 * Ends with 3 when nothing is mounted there. What can be written to the disk before is: it would be written while all wait.
 */
const FREEZER = `trap "" INT QUIT TERM HUP
cd "$1" 2>/dev/null && mountpoint -q . || exit 3
sync -f .
fsfreeze -f . || exit 1
echo held
cat >/dev/null
fsfreeze -u .`

/** Null when nothing is mounted there; else what thaws it. */
const frozen = async (folder: string) => {
  const child = spawn("/bin/sh", ["-c", FREEZER, "sh", folder], {
    cwd: "/",
    env: HOST_ENVIRONMENT,
    stdio: ["pipe", "pipe", "pipe"],
    // Nor does it die with our process group.
    detached: true
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

/** Thaws what was left frozen: whoever held it was killed, and its freezer was, too. True where there was something to do. */
export const thawAbandoned = async (image: string, folder: string): Promise<boolean> => {
  if (!isAbandoned(image)) return false
  // Refused where nothing is frozen, as when the freezer has thawed it.
  const { code } = await hostCommand(["fsfreeze", "-u", folder])
  if (isAbandoned(image)) await release(image)
  return code === 0
}

/**
 * @param folder Where it is mounted, if it is.
 * @param isMounted Whether it is now.
 */
export const holdVolume = async (image: string, folder: string, isMounted: () => boolean): Promise<StillVolume> => {
  await thawAbandoned(image, folder)
  await hold(image)
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const thaw = await frozen(folder)
      if (thaw !== null) {
        const letGo = async () => {
          try {
            await thaw()
          } finally {
            await release(image)
          }
        }
        return { isStill: () => Promise.resolve(true), letGo }
      }
      const before = await writtenAt(image)
      if (isMounted()) continue
      return {
        // Whoever was about to mount it when the mark was made has done so by the time that this is asked.
        isStill: async () => !isMounted() && (await writtenAt(image)) === before,
        letGo: () => release(image)
      }
    }
    throw new Error(`${image} is started and stopped all the time`)
  } catch (cause) {
    await release(image)
    throw cause
  }
}
