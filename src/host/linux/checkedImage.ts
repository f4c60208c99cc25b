/**
 * Checks an image that a stranger may have made, before the host's kernel or a guest mounts it. Programs that read its bytes run as a user that owns
 * nothing else, with bounded time and memory. What they correct is corrected; what is not whole afterwards is refused.
 *
 * The file system of a namespace Sandbox is mounted by the host, so more is required of it: only features that mke2fs gives a volume, a superblock
 * without mount options and without the order to panic at a fault, and at its root only what the driver makes there. Otherwise a link in place of
 * /workspace would lead the driver out of the volume.
 *
 * @source e2fsck(8), debugfs(8), ext4(5)
 */
import { spawn } from "node:child_process"
import { type FileHandle, open } from "node:fs/promises"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"
import { HOST_ENVIRONMENT } from "./hostCommand.ts"
import { withoutLostFound } from "./lostFound.ts"

/** On every Linux the user without files. */
const READER = 65_534
const WITHIN_MS = 180_000
const MEMORY_BYTES = 2 * 1024 ** 3
const OUTPUT_MAX_BYTES = 64 * 1024

/** The image is damaged, or not of the form of a volume. */
export class ImageUnusable extends Error {}

export const snapshotUnusable = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "SNAPSHOT_UNUSABLE",
    message: publicText`The file system in the snapshot is damaged, or is not that of a Sandbox's volume.`
  })

interface Ended {
  /** Null: a signal ended it. */
  readonly code: number | null
  readonly stdout: string
}

/** Runs a program on the image, which is `/proc/self/fd/3` to it: that user cannot reach its folder. */
const reading = (image: FileHandle, bytes: number, argv: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const bounds = ["--core=0", `--as=${MEMORY_BYTES}`, `--fsize=${bytes}`, `--cpu=${WITHIN_MS / 1000}`]
    const user = [`--reuid=${READER}`, `--regid=${READER}`, "--clear-groups", "--no-new-privs", "--inh-caps=-all"]
    const asUser = process.getuid?.() === 0 ? ["setpriv", ...user] : []
    const child = spawn("prlimit", [...bounds, ...asUser, ...argv], {
      cwd: "/",
      env: HOST_ENVIRONMENT,
      stdio: ["ignore", "pipe", "ignore", image.fd]
    })
    const timer = setTimeout(() => child.kill("SIGKILL"), WITHIN_MS)
    const chunks: Array<Buffer> = []
    let length = 0
    child.stdout!.on("data", (chunk: Buffer) => {
      if (length < OUTPUT_MAX_BYTES) chunks.push(chunk)
      length += chunk.length
    })
    child.on("error", (cause) => {
      clearTimeout(timer)
      reject(cause)
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      const stdout = Buffer.concat(chunks).toString("latin1")
      resolve({ code: length > OUTPUT_MAX_BYTES ? null : code, stdout })
    })
  })

const PATH = "/proc/self/fd/3"
/** e2fsck corrected something, and all is well. */
const CORRECTED = 1
const MISSING_PROGRAM = 127

const mendedByFsck = async (image: FileHandle, bytes: number): Promise<void> => {
  for (const [flag, most] of [
    ["-y", CORRECTED],
    ["-n", 0]
  ] as const) {
    const { code } = await reading(image, bytes, ["e2fsck", "-f", flag, PATH])
    if (code === MISSING_PROGRAM) throw new Error("e2fsck is missing on this host")
    if (code === null || code > most) throw new ImageUnusable(`e2fsck ${flag} ended with ${code}`)
  }
}

/** What mke2fs of any supported Debian gives to ext4. */
const FEATURES = new Set(
  "has_journal ext_attr resize_inode dir_index orphan_file filetype extent 64bit flex_bg metadata_csum_seed sparse_super large_file huge_file uninit_bg dir_nlink extra_isize metadata_csum".split(
    " "
  )
)
const OPTIONS = new Set(["user_xattr", "acl", "(none)"])

const requirePlainSuperblock = async (image: FileHandle, bytes: number): Promise<void> => {
  const { code, stdout } = await reading(image, bytes, ["dumpe2fs", "-h", PATH])
  if (code !== 0) throw new ImageUnusable(`dumpe2fs ended with ${code}`)
  const fieldOf = (name: string) => new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(stdout)?.[1] ?? ""
  const unknown = fieldOf("Filesystem features")
    .split(" ")
    .filter((it) => !FEATURES.has(it))
  if (unknown.length > 0) throw new ImageUnusable(`it has the features ${unknown.join(" ")}`)
  const options = fieldOf("Default mount options")
    .split(/\s+/)
    .filter((it) => !OPTIONS.has(it))
  if (options.length > 0 || /^Mount options:/m.test(stdout)) throw new ImageUnusable("it has mount options")
  if (fieldOf("Errors behavior") !== "Continue") throw new ImageUnusable("it does not continue at a fault")
  if (/^Journal (?:device|UUID):/m.test(stdout)) throw new ImageUnusable("its journal is on another device")
}

const directory = /^(?:\.|\.\.|lost\+found|workspace|tmp|stale(?:-[\w-]+)?)$/
const file = /^console-\d+$/

const requirePlainRoot = async (image: FileHandle, bytes: number): Promise<void> => {
  const { code, stdout } = await reading(image, bytes, ["debugfs", "-R", "ls -p /", PATH])
  if (code !== 0) throw new ImageUnusable(`debugfs ended with ${code}`)
  for (const line of stdout.split("\n")) {
    if (line === "") continue
    // No name has a slash in it, so no name can look like another entry.
    const [, mode = "", name = ""] = /^\/\d+\/(\d{6})\/\d+\/\d+\/([^/]*)\/\d*\/$/.exec(line) ?? []
    const isPlain = mode.startsWith("04") ? directory.test(name) : mode.startsWith("10") && file.test(name)
    if (!isPlain) throw new ImageUnusable("there is something else at its root")
  }
}

/**
 * Corrects the file system, or rejects with ImageUnusable.
 *
 * @param isMountedHere This host's kernel will mount it.
 */
export const checkImage = async (path: string, isMountedHere: boolean): Promise<void> => {
  const image = await open(path, "r+")
  try {
    const { size, uid, gid } = await image.stat()
    const isRoot = process.getuid?.() === 0
    if (isRoot) await image.chown(READER, READER)
    await withoutLostFound(
      (argv) => reading(image, size, argv),
      PATH,
      () => mendedByFsck(image, size)
    )
    if (isMountedHere) {
      await requirePlainSuperblock(image, size)
      await requirePlainRoot(image, size)
    }
    if (isRoot) await image.chown(uid, gid)
    await image.sync()
  } finally {
    await image.close()
  }
}
