/** A file or directory of this machine, into a Sandbox. */
import { createReadStream, createWriteStream, type Stats } from "node:fs"
import { lstat, mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join, posix, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { AtollError } from "../../errors.ts"
import type { FileStatResponse } from "../../generated/schemas.ts"
import type { Sandbox } from "../../Sandbox.ts"
import { Refused } from "../failure.ts"
import type { Copied } from "./Copied.ts"
import { isBelowWorkspace, isContentOf } from "./Place.ts"
import { Progress } from "./Progress.ts"

const ownerMayRun = 0o100

export const remoteStat = async (
  sandbox: Sandbox,
  path: string,
  signal: AbortSignal
): Promise<FileStatResponse | null> => {
  try {
    return await sandbox.files.stat(path, { signal })
  } catch (thrown) {
    if (thrown instanceof AtollError && thrown.is("NOT_FOUND")) return null
    throw thrown
  }
}

/** The entry there; for a link, its target, if that is a directory below /workspace: its path tells which. */
export const remotePlace = async (
  sandbox: Sandbox,
  path: string,
  signal: AbortSignal
): Promise<FileStatResponse | null> => {
  const there = await remoteStat(sandbox, path, signal)
  if (there?.type !== "symlink") return there
  const { exitCode, stdout } = await sandbox.run(["readlink", "-ez", "--", path], { signal })
  const real = stdout.slice(0, -1)
  if (exitCode !== 0 || !isBelowWorkspace(real)) return there
  const found = await remoteStat(sandbox, real, signal)
  return found?.type === "directory" ? found : there
}

const localStat = async (path: string): Promise<Stats> => {
  try {
    return await stat(path)
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException
    throw new Refused(code === "ENOENT" ? `There is no ${path} here.` : message)
  }
}

/** The sum over all files below that are found: only for the progress bar. Sending reports an unreadable one. */
const sizeOf = async (folder: string): Promise<number> => {
  let bytes = 0
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += await sizeOf(path)
    else if (entry.isFile()) bytes += (await lstat(path).catch(() => null))?.size ?? 0
  }
  return bytes
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  progress: Progress
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0
  for await (const piece of source) {
    yield piece
    bytes += piece.length
    progress.at(bytes)
  }
}

const uploadFile = async (
  sandbox: Sandbox,
  from: string,
  to: string,
  { size, mode }: Stats,
  signal: AbortSignal
): Promise<Copied> => {
  const progress = new Progress(basename(to), size)
  try {
    const content = createReadStream(from, { signal })
    await sandbox.files.write(to, counted(content as AsyncIterable<Uint8Array>, progress), { size, signal })
    if ((mode & ownerMayRun) !== 0) {
      const argv = ["chmod", "--", (mode & 0o777).toString(8), to]
      await sandbox.run(argv, { signal })
    }
  } catch (thrown) {
    progress.stop()
    if (thrown instanceof AtollError && thrown.is("NOT_FOUND")) {
      throw new Refused(
        `There is no directory ${posix.dirname(to)} in the Sandbox: make it, or name another.`,
        null,
        thrown
      )
    }
    throw thrown
  }
  progress.done(size)
  return { from, to, type: "file", entries: 1, bytes: size, leftOut: [] }
}

const uploadDirectory = async (sandbox: Sandbox, from: string, to: string, signal: AbortSignal): Promise<Copied> => {
  const progress = new Progress(basename(to), Progress.isSeen ? await sizeOf(from) : null)
  try {
    const { entries, bytes, leftOut } = await sandbox.files.uploadDirectory(from, to, {
      signal,
      onProgress: ({ bytes, path }) => progress.at(bytes, path)
    })
    progress.done(bytes)
    return { from, to, type: "directory", entries, bytes, leftOut }
  } catch (thrown) {
    progress.stop()
    throw thrown
  }
}

const inputPath = "-"

/** Its size has to be known first. */
const uploadInput = async (sandbox: Sandbox, to: string, signal: AbortSignal): Promise<Copied> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-cp-"))
  try {
    const whole = join(folder, "input")
    await pipeline(process.stdin, createWriteStream(whole, { mode: 0o600 }), { signal })
    return { ...(await uploadFile(sandbox, whole, to, await stat(whole), signal)), from: inputPath }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param isDirectory Whether the destination must be a directory. */
export const upload = async (
  sandbox: Sandbox,
  from: string,
  to: string,
  isDirectory: boolean,
  signal: AbortSignal
): Promise<Copied> => {
  const there = await remotePlace(sandbox, to, signal)
  if (from === inputPath) {
    if (there?.type === "directory") throw new Refused(`${to} is a directory: name the file that stdin becomes.`)
    return uploadInput(sandbox, to, signal)
  }
  const here = await localStat(from)
  if (isDirectory && here.isFile() && there?.type !== "directory") {
    throw new Refused(`There is no directory ${to} in the Sandbox.`)
  }
  const place = there?.type === "directory" ? there.path : to
  const into = there?.type === "directory" && !isContentOf(from) ? posix.join(place, basename(resolve(from))) : place
  if (here.isFile()) return uploadFile(sandbox, from, into, here, signal)
  if (here.isDirectory()) return uploadDirectory(sandbox, from, into, signal)
  throw new Refused(`${from} is neither a file nor a directory.`)
}
