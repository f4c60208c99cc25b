/** Debian's Python with httpx, and programs of this folder that are run with it, also in their synchronous form. */
import { spawnSync } from "node:child_process"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join, parse } from "node:path"
import { unasync } from "../../../../scripts/clients/unasync.ts"
import { plainEnvironment } from "../../../../scripts/release/Pythons.ts"
import { type Running, runProgram } from "../runProgram.ts"

/** Not the first on the path, which may be another one without Debian's packages. */
export const python = "/usr/bin/python3"
export const libraryFolder = join(import.meta.dirname, "../../../../clients/python")
const programsFolder = join(import.meta.dirname, "programs")

const lacks = (program: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(program, args, { env: plainEnvironment, stdio: "ignore" }).status !== 0

/** Null when the Python library can be tested here. */
export const pythonObstacle: string | null = lacks(python, "-c", "import httpx")
  ? `${python} has no httpx: apt-get install python3-httpx`
  : null

/** Null when its types can be checked, and a wheel be built, here. */
export const packagingObstacle: string | null =
  pythonObstacle ??
  (lacks(python, "-c", "import setuptools, wheel, pip, venv, mypy")
    ? "Packages are missing: apt-get install mypy python3-pip python3-setuptools python3-venv python3-wheel"
    : null)

export const programNames = readdirSync(programsFolder).flatMap((file) => {
  const { name, ext } = parse(file)
  return ext === ".py" && name !== "support" ? [name] : []
})

export type Manner = "async" | "sync"

/** A program of this folder in both manners, beside what it imports. Their paths. */
export const writeProgram = (folder: string, name: string): Readonly<Record<Manner, string>> => {
  cpSync(join(programsFolder, "support.py"), join(folder, "support.py"))
  const source = readFileSync(join(programsFolder, `${name}.py`), "utf8")
  const synchronous = unasync(source)
    .replaceAll(/\basyncio\.run\((.+)\)$/gm, "$1")
    .replaceAll("_async", "_sync")
  const paths = { async: join(folder, `${name}_async.py`), sync: join(folder, `${name}_sync.py`) }
  writeFileSync(paths.async, source)
  writeFileSync(paths.sync, synchronous)
  return paths
}

export interface RunOptions {
  /** By default Debian's. */
  readonly program?: string
  /** Where else modules are imported from. */
  readonly packages?: ReadonlyArray<string>
}

/** A warning is a failure: a connection that was not closed causes one at the end. */
export const runPython = (
  path: string,
  environment: Readonly<Record<string, string>>,
  { program = python, packages = [] }: RunOptions = {}
): Running => {
  const library = [join(libraryFolder, "src"), ...packages].join(delimiter)
  const env = { ...plainEnvironment, PYTHONPATH: library, ...environment }
  const { child, said, ended } = runProgram(program, ["-W", "default", path], env)
  const withoutWarning = ended.then((text) => {
    if (text.includes("Warning")) throw new Error(`${path} warns:\n${text}`)
    return text
  })
  withoutWarning.catch(() => {})
  return { child, said, ended: withoutWarning }
}
