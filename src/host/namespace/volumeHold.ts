/**
 * Holds a volume unchanged while a process other than the service reads its image.
 *
 * A mounted volume is frozen: writes to it wait, and the image is consistent. A volume that is not mounted cannot be mounted until it is released
 * (`holdMark.ts`).
 *
 * @source ioctl_fsfreeze(2), fsfreeze(8)
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { hold, isAbandoned, letGo, release } from "../linux/holdMark.ts"
import { HOST_ENVIRONMENT, hostCommand } from "../linux/hostCommand.ts"
import { type StillVolume, writtenAt } from "../linux/StillVolume.ts"

/** The volume may be mounted or unmounted between the freeze attempt and the check of the mount, so both are repeated. */
const TRIES = 5

/** @see ../linux/native/freezevolume.c */
const PROGRAM = fileURLToPath(new URL("../linux/native/freezevolume.x64", import.meta.url))

/**
 * The same for other processors, in the time of five programs. The process keeps its working directory in the volume, which blocks an unmount. It thaws when its input closes, so also when
 * this process dies, and when it dies while the volume is being frozen, and its pipes are closed. Exits with 3 when nothing is
 * mounted. It flushes first, because a flush during the freeze would keep all writers waiting longer.
 */
const FREEZER = `trap "" INT QUIT TERM HUP PIPE
cd "$1" 2>/dev/null && mountpoint -q . || exit 3
sync -f .
echo freezes
fsfreeze -f . || exit 1
echo held
cat >/dev/null
fsfreeze -u .`

const freezer = (folder: string): readonly [string, ...ReadonlyArray<string>] =>
  process.arch === "x64" && existsSync(PROGRAM) ? [PROGRAM, folder] : ["/bin/sh", "-c", FREEZER, "sh", folder]

export interface HeldVolume extends StillVolume {
  /** When its writers began to wait, as `performance.now()`; null: it is not mounted, and has no writers. */
  readonly frozenAt: number | null
}

/** Null when nothing is mounted; otherwise when the freeze began, and a function that thaws the volume. */
const frozen = async (folder: string) => {
  const [program, ...args] = freezer(folder)
  const child = spawn(program, args, {
    cwd: "/",
    env: HOST_ENVIRONMENT,
    stdio: ["pipe", "pipe", "pipe"],
    // A signal to this process's group must not kill it.
    detached: true
  })
  let said = ""
  child.stderr.on("data", (chunk) => {
    said += chunk
  })
  const ended = once(child, "exit")
  let frozenAt: number | null = null
  const isHeld = new Promise<null>((resolve) => {
    let progress = ""
    child.stdout.on("data", (chunk) => {
      progress += chunk
      frozenAt ??= performance.now()
      if (progress.endsWith("held\n")) resolve(null)
    })
  })
  const first = await Promise.race([isHeld, ended.then(([code]) => code as number)])
  if (first === 3) return null
  if (first !== null) throw new Error(`${folder} cannot be held still: ${said.trim()}`)
  const thaw = async () => {
    child.stdin.end()
    const [code] = await ended
    if (code !== 0) throw new Error(`${folder} may still be frozen (fsfreeze -u ${folder}): ${said.trim()}`)
  }
  return { frozenAt, thaw }
}

/** Thaws a volume whose holder was killed together with its freezer. True if the volume was frozen. */
export const thawAbandoned = async (image: string, folder: string): Promise<boolean> => {
  if (!isAbandoned(image)) return false
  // Fails when the volume is not frozen, for example because the freezer thawed it.
  const { code } = await hostCommand(["fsfreeze", "-u", folder])
  if (isAbandoned(image)) await release(image)
  return code === 0
}

/**
 * @param folder The mount point.
 * @param isMounted Whether the volume is mounted now.
 */
export const holdVolume = async (image: string, folder: string, isMounted: () => boolean): Promise<HeldVolume> => {
  // Only one reader at a time: a volume cannot be frozen twice.
  await letGo(image)
  await thawAbandoned(image, folder)
  await hold(image)
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const freeze = await frozen(folder)
      if (freeze !== null) {
        const thaw = async () => {
          try {
            await freeze.thaw()
          } finally {
            await release(image)
          }
        }
        return { isStill: () => Promise.resolve(true), letGo: thaw, frozenAt: freeze.frozenAt }
      }
      const before = await writtenAt(image)
      if (isMounted()) continue
      return {
        // A mount that was under way when the mark was made has completed by the time of this check.
        isStill: async () => !isMounted() && (await writtenAt(image)) === before,
        letGo: () => release(image),
        frozenAt: null
      }
    }
    throw new Error(`${image} is started and stopped all the time`)
  } catch (cause) {
    await release(image)
    throw cause
  }
}
