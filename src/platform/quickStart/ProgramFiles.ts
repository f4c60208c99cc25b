/**
 * The service, the host program and the operator's command line as a few files each, in place of 1,400 modules. Finding, reading and linking so many
 * takes Node two thirds of the time until they have run, even with their code compiled.
 *
 * A separate process makes the files, some time after a start that found none (`makeProgramFiles.ts`). A start uses them while every
 * source is as it was; otherwise it loads the sources.
 */
import { spawn } from "node:child_process"
import { accessSync, constants as modes, readFileSync, statSync } from "node:fs"
import { constants, setPriority } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"

export const root = join(import.meta.dirname, "../../..")

/** Beside the installed packages, where only their owner may write. */
export const programsFolder = join(root, "node_modules/.cache/atoll/programs")

/** A file and what changes with its content. In place of the content, which would have to be read at each start. */
export type Source = readonly [path: string, bytes: number, modifiedMs: number, inode: number]

export interface ProgramFiles {
  /** Where the sources lie, and the version of Node that checked the files: they hold paths. */
  readonly maker: string
  /** The folder of the files, below `programsFolder`. */
  readonly folder: string
  readonly sources: ReadonlyArray<Source>
}

/** Each exports a function `start`. */
export const programPaths = {
  ServiceProgram: "src/app/ServiceProgram.ts",
  HostProgram: "src/app/HostProgram.ts",
  OperatorProgram: "src/cli/OperatorProgram.ts"
} as const

export type ProgramName = keyof typeof programPaths

export const maker = `${process.version} ${root}`
export const listPath = join(programsFolder, "files.json")

/** A start under load is over by then, and most processes of tests have ended. */
const MADE_AFTER_MS = 15_000

/** Null where there is no such file. */
export const sourceOf = (path: string): Source | null => {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  return found === undefined ? null : [path, found.size, found.mtimeMs, found.ino]
}

const isUnchanged = (source: Source): boolean => {
  const [path, ...before] = source
  const now = sourceOf(path)
  return now !== null && before.every((value, index) => value === now[index + 1])
}

/** The folder of files that were made of the present sources; null: there is none. */
export const presentFiles = (): string | null => {
  try {
    const { maker: madeBy, folder, sources } = JSON.parse(readFileSync(listPath, "utf8")) as ProgramFiles
    return madeBy === maker && sources.every(isUnchanged) ? join(programsFolder, folder) : null
  } catch {
    return null
  }
}

const mayWrite = (folder: string): boolean => {
  try {
    accessSync(folder, modes.W_OK)
    return true
  } catch {
    return false
  }
}

/** Its failure only costs the next start its speed. */
const makeFiles = (): void => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "makeProgramFiles.ts")], {
    env: { PATH: process.env["PATH"] },
    cwd: root,
    detached: true,
    stdio: "ignore"
  })
  child.once("error", () => {})
  child.unref()
  try {
    setPriority(child.pid!, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended.
  }
}

const makeFilesLater = (): void => {
  if (process.env["NODE_DISABLE_COMPILE_CACHE"] === "1" || !mayWrite(dirname(dirname(programsFolder)))) return
  setTimeout(makeFiles, MADE_AFTER_MS).unref()
}

/** The program from its files. Null: load the sources. NODE_DISABLE_COMPILE_CACHE=1 turns the files off. */
export const quickProgram = async <Program>(name: ProgramName): Promise<Program | null> => {
  const folder = process.env["NODE_DISABLE_COMPILE_CACHE"] === "1" ? null : presentFiles()
  if (folder !== null) {
    try {
      return (await import(pathToFileURL(join(folder, `${name}.mjs`)).href)) as Program
    } catch {
      // Nothing of the program has begun.
    }
  }
  makeFilesLater()
  return null
}
