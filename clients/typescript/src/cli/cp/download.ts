/** A file or directory of a Sandbox, onto this machine. */
import { type Stats, statSync } from "node:fs"
import { open, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { AtollError } from "../../errors.ts"
import type { FileStatResponse } from "../../generated/schemas.ts"
import { randomKey } from "../../http/randomKey.ts"
import { type LocalPath, ownName, within } from "../../node/localPath.ts"
import type { Sandbox } from "../../Sandbox.ts"
import { Refused } from "../failure.ts"
import { write } from "../standardStreams.ts"
import type { Copied } from "./Copied.ts"
import { isContentOf } from "./Place.ts"
import { Progress } from "./Progress.ts"
import { remotePlace } from "./upload.ts"

/** How often a read starts over because the file has changed. */
const changedTimesMax = 5

const modeOfNewFile = 0o666

/** The destination of a copy. */
interface Target {
  readonly path: LocalPath
  readonly folder: string
  /** With the names that the service shows. */
  readonly shown: string
}

const localStat = (path: LocalPath): Stats | null => {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

const outputPath = "-"

const toStdout = async (sandbox: Sandbox, from: string, signal: AbortSignal): Promise<Copied> => {
  let bytes = 0
  for await (const piece of sandbox.files.chunks(from, { signal })) {
    await write(process.stdout, piece)
    bytes += piece.length
  }
  return { from, to: outputPath, type: "file", entries: 1, bytes, leftOut: [] }
}

/** The faults of this machine's files, as sentences. */
const unwritten = ({ folder, shown }: Target, thrown: unknown): unknown => {
  const { code, message, syscall } = thrown as NodeJS.ErrnoException
  if (syscall === undefined) return thrown
  if (code === "ENOENT") return new Refused(`There is no directory ${folder} here: make it, or name another.`)
  const [, why = message] = /^[A-Z]\w+: ([^,]+)/.exec(message) ?? []
  return new Refused(`${shown} cannot be written: ${why}.`)
}

/** Whole, under its name, or not at all. */
const downloadFile = async (
  sandbox: Sandbox,
  from: FileStatResponse,
  to: Target,
  signal: AbortSignal
): Promise<Copied> => {
  // Without any of the file's name, which may have the full length.
  const beside = join(to.folder, `.atoll-${process.pid}-${randomKey()}`)
  // A link's own mode and size are not those of its target.
  const isLink = from.type === "symlink"
  const mode = isLink ? modeOfNewFile : Number.parseInt(from.mode, 8) & 0o777
  const progress = new Progress(basename(to.shown), isLink ? null : from.sizeBytes)
  for (let attempt = 1; ; attempt++) {
    let bytes = 0
    try {
      const file = await open(beside, "wx", mode)
      try {
        for await (const piece of sandbox.files.chunks(from.path, { signal })) {
          await file.writeFile(piece)
          bytes += piece.length
          progress.at(bytes)
        }
      } finally {
        await file.close()
      }
      await rename(beside, to.path)
      progress.done(bytes)
      return { from: from.path, to: to.shown, type: "file", entries: 1, bytes, leftOut: [] }
    } catch (thrown) {
      await rm(beside, { force: true })
      if (thrown instanceof AtollError && thrown.is("CURSOR_STALE") && attempt < changedTimesMax) continue
      progress.stop()
      throw unwritten(to, thrown)
    }
  }
}

const downloadDirectory = async (sandbox: Sandbox, from: string, to: Target, signal: AbortSignal): Promise<Copied> => {
  const progress = new Progress(basename(to.shown), null)
  try {
    const { entries, bytes, leftOut } = await sandbox.files.downloadDirectory(from, to.path, {
      signal,
      onProgress: ({ bytes, path }) => progress.at(bytes, path)
    })
    progress.done(bytes)
    return { from, to: to.shown, type: "directory", entries, bytes, leftOut }
  } catch (thrown) {
    progress.stop()
    throw thrown
  }
}

/** @param given The source as it was typed. @param isDirectory Whether the destination must be a directory. */
export const download = async (
  sandbox: Sandbox,
  from: string,
  given: string,
  to: string,
  isDirectory: boolean,
  signal: AbortSignal
): Promise<Copied> => {
  const there = await remotePlace(sandbox, from, signal)
  if (there === null) throw new Refused(`There is no ${from} in the Sandbox.`)
  if (to === outputPath) {
    if (there.type === "directory") throw new Refused(`${from} is a directory: only a file goes to stdout.`)
    return toStdout(sandbox, from, signal)
  }
  const here = localStat(to)
  if (isDirectory && there.type !== "directory" && here?.isDirectory() !== true) {
    throw new Refused(`There is no directory ${to} here.`)
  }
  const name = basename(from)
  const into: Target =
    here?.isDirectory() === true && !isContentOf(given)
      ? { path: within(to, ownName(name)), folder: to, shown: join(to, name) }
      : { path: to, folder: dirname(to), shown: to }
  if (there.type === "directory") {
    if (localStat(into.path)?.isDirectory() === false) {
      throw new Refused(`${into.shown} is no directory, and ${from} is one.`)
    }
    return downloadDirectory(sandbox, there.path, into, signal)
  }
  if (there.type === "other") throw new Refused(`${from} is neither a file nor a directory.`)
  return downloadFile(sandbox, there, into, signal)
}
