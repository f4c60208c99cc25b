/**
 * What the agent needs beside the root of an image, which may have neither a loader nor a library nor a shell: one folder with Node, the agent's few
 * programs, and the loader and libraries of this host for them.
 *
 * Node must stay closed to readers (`HostLayout.sealedNode`), so the loader cannot be told to run it. Instead this copy names the loader in the folder,
 * and the loader finds the libraries by LD_LIBRARY_PATH. The agent removes that variable before it starts anything.
 *
 * @source elf(5), "PT_INTERP"; ld.so(8), "--list" and "--library-path"
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs"
import { chmod, copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { HOST_ENVIRONMENT, mustRun } from "../linux/hostCommand.ts"
import { noteProgramsUse, unfinishedPrograms } from "./oldPrograms.ts"

/** Where the folder is in a Sandbox. */
export const OWN_PROGRAMS = "/.atoll"

/** The agent's programs: see `ownProgram` of the agent. */
const PROGRAMS = ["sh", "script", "stty", "mkfifo", "sync"]

const PT_INTERP = 3

interface LoaderName {
  readonly offset: number
  readonly size: number
}

/** Where a program names its loader; null: it needs none. */
const loaderName = (program: Buffer): LoaderName | null => {
  if (program.subarray(0, 6).toString("latin1") !== "\x7fELF\x02\x01") throw new Error("Node is no 64-bit ELF program")
  const at = Number(program.readBigUInt64LE(32))
  for (let index = 0; index < program.readUInt16LE(56); index++) {
    const header = at + index * program.readUInt16LE(54)
    if (program.readUInt32LE(header) !== PT_INTERP) continue
    return {
      offset: Number(program.readBigUInt64LE(header + 8)),
      size: Number(program.readBigUInt64LE(header + 32))
    }
  }
  return null
}

const loaderOf = (program: Buffer): string | null => {
  const found = loaderName(program)
  if (found === null) return null
  return program.toString("latin1", found.offset, found.offset + found.size).replace(/\0.*$/s, "")
}

/** The program with another loader, whose name is not longer than the present one. */
const withLoader = (program: Buffer, loader: string): Buffer => {
  const found = loaderName(program)
  if (found === null || loader.length >= found.size) throw new Error("Node has no room for the name of its loader")
  program.fill(0, found.offset, found.offset + found.size)
  program.write(loader, found.offset, "latin1")
  return program
}

const located = (program: string): string => {
  const folder = HOST_ENVIRONMENT.PATH.split(":").find((it) => existsSync(join(it, program)))
  if (folder === undefined) throw new Error(`${program} is missing on this host`)
  return realpathSync(join(folder, program))
}

/** The libraries that a program loads. */
const librariesOf = async (loader: string, program: string): Promise<ReadonlyArray<string>> =>
  [...(await mustRun([loader, "--list", program])).matchAll(/=> (\/\S+) \(/g)].map(([, path]) => path!)

/**
 * Makes the folder below `parent` if it is missing. Other versions have other names, so running Sandboxes keep theirs. Call it before each boot: an old
 * version is removed when no boot has used it for long.
 */
export const ownPrograms = async (parent: string): Promise<string> => {
  const node = realpathSync(process.execPath)
  const programs = PROGRAMS.map((name) => [name, located(name)] as const)
  const identity = [node, ...programs.map(([, path]) => path)].map((path) => {
    const { size, mtimeMs } = statSync(path)
    return [path, size, mtimeMs]
  })
  const digest = createHash("sha256")
    .update(JSON.stringify([process.version, readFileSync(import.meta.filename, "utf8"), identity]))
    .digest("hex")
    .slice(0, 16)
  const folder = join(parent, `programs-${digest}`)
  await noteProgramsUse(folder)
  if (existsSync(folder)) return folder
  const unfinished = unfinishedPrograms(folder)
  try {
    await write(unfinished, node, programs)
    await rename(unfinished, folder).catch((cause: NodeJS.ErrnoException) => {
      // Another process has made it meanwhile.
      if (!existsSync(folder)) throw cause
    })
    return folder
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

const write = async (
  folder: string,
  node: string,
  programs: ReadonlyArray<readonly [name: string, path: string]>
): Promise<void> => {
  const bytes = await readFile(node)
  const loader = loaderOf(bytes)
  // By chmod, because the umask reduces the mode of mkdir.
  for (const name of ["", "lib", "bin", "cgroup"]) {
    await mkdir(join(folder, name), { recursive: true })
    await chmod(join(folder, name), 0o755)
  }
  const copy = async (from: string, to: string) => {
    await copyFile(from, join(folder, to))
    await chmod(join(folder, to), 0o755)
  }
  await writeFile(join(folder, "node"), loader === null ? bytes : withLoader(bytes, `${OWN_PROGRAMS}/ld.so`))
  await chmod(join(folder, "node"), 0o111)
  const libraries = new Set<string>()
  const usual = loader ?? loaderOf(await readFile(programs[0]![1]))
  if (usual !== null) {
    await copy(realpathSync(usual), "ld.so")
    for (const path of [...(loader === null ? [] : [node]), ...programs.map(([, it]) => it)])
      for (const library of await librariesOf(usual, path)) libraries.add(library)
  }
  for (const library of libraries) await copy(realpathSync(library), join("lib", basename(library)))
  for (const [name, path] of programs) await copy(path, join("bin", name))
  // Over which the agent's own versions are mounted.
  for (const name of ["agent.cjs", "spawner"]) await writeFile(join(folder, name), "", { mode: 0o644 })
}
