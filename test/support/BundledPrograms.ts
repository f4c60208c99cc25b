/**
 * The service and the operator's command line as a few files each (vitest `globalSetup`), for the processes that tests
 * start by the hundred:
 * two thirds of such a start are spent on finding and linking a thousand modules. The bundles run the same code, and
 * every path that a module computes from its own place is the source's. `test/system/setup/launch.test.ts` and its
 * neighbours start the sources.
 */
import { createHash, randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Plugin } from "esbuild"
import { bundle } from "../../src/platform/bundle/bundle.ts"
import { kept } from "../../src/platform/bundle/kept.ts"
import { bundledProgramsVariable } from "./bundledOnce.ts"

const root = join(import.meta.dirname, "../..")
const folder = join(root, "node_modules/.cache/programs")
const unusedMaxMs = 24 * 60 * 60 * 1000

/** By the name of the bundle's file. */
const programs = { main: join(root, "src/main.ts"), atoll: join(root, "src/cli/main.ts") }

/** A module sees the source's place as its own. */
const inPlace: Plugin = {
  name: "in-place",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$|\/compileCache\/enabled\.mjs$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8")
      const told: Readonly<Record<string, unknown>> = {
        url: pathToFileURL(path).href,
        dirname: dirname(path),
        filename: path,
        main: Object.values(programs).includes(path)
      }
      const contents = text.replaceAll(/\bimport\.meta\.(url|dirname|filename|main)\b/g, (_, name) =>
        JSON.stringify(told[name])
      )
      return { contents, loader: "ts" }
    })
  }
}

const make = async () => {
  const { files, sources } = await bundle({
    entryPoints: programs,
    bundle: true,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    format: "esm",
    splitting: true,
    platform: "node",
    target: "node24",
    keepNames: true,
    // CommonJS, or separate programs.
    external: ["esbuild", "ssh2", "ws"],
    plugins: [inPlace]
  })
  return { value: files.map(({ path, contents }) => [basename(path), contents] as const), sources }
}

/** Loads the bundle instead of a source that is started. */
const enterOf = (at: string): string => {
  const places = Object.entries(programs).map(([name, source]) => [
    pathToFileURL(source).href,
    pathToFileURL(join(at, `${name}.mjs`)).href
  ])
  return `import { registerHooks } from "node:module"
const places = new Map(${JSON.stringify(places)})
registerHooks({
  resolve(specifier, context, next) {
    const url = context.parentURL === undefined ? places.get(specifier) : undefined
    return url === undefined ? next(specifier, context) : { url, format: "module", shortCircuit: true }
  }
})
`
}

/** Other runs may use another bundle at this moment. */
const sweepUnused = async (): Promise<void> => {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => null)
    if (found !== null && Date.now() - found.mtimeMs > unusedMaxMs) await rm(path, { recursive: true, force: true })
  }
}

export default async (): Promise<void> => {
  const files = await kept("test-programs", [import.meta.filename, join(root, "src/platform/bundle/bundle.ts")], make)
  const hash = createHash("sha256")
  for (const [name, contents] of files) hash.update(name).update(contents)
  const at = join(folder, hash.digest("hex").slice(0, 16))
  if (existsSync(at)) {
    const now = new Date()
    await utimes(at, now, now)
  } else {
    const temporary = `${at}.${randomUUID()}`
    await mkdir(temporary, { recursive: true })
    for (const [name, contents] of files) await writeFile(join(temporary, name), contents)
    await writeFile(join(temporary, "enter.mjs"), enterOf(at))
    // The first run has made the same.
    await rename(temporary, at).catch(() => rm(temporary, { recursive: true, force: true }))
  }
  process.env[bundledProgramsVariable] = join(at, "enter.mjs")
  await sweepUnused()
}
