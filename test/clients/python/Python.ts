/** Debian's Python with httpx, and programs of this folder that are run with it, also in their synchronous form. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, parse } from "node:path"
import { unasync } from "../../../scripts/clients/unasync.ts"

/** Not the first on the path, which may be another one without Debian's packages. */
export const python = "/usr/bin/python3"
export const libraryFolder = join(import.meta.dirname, "../../../clients/python")
const programsFolder = join(import.meta.dirname, "programs")

/** Without what the surroundings say of Python and of proxies. */
export const plainEnvironment = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", PYTHONDONTWRITEBYTECODE: "1" }

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

export interface Running {
  readonly child: ChildProcess
  readonly said: () => string
  /** Fails with what it said where it does not end with 0. */
  readonly ended: Promise<void>
}

/** `library`: where `atoll` is imported from. */
export const runProgram = (
  path: string,
  environment: Readonly<Record<string, string>>,
  library = join(libraryFolder, "src")
): Running => {
  const child = spawn(python, ["-W", "default", path], {
    env: { ...plainEnvironment, PYTHONPATH: library, ...environment },
    stdio: ["pipe", "pipe", "pipe"]
  })
  let said = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
  const ended = once(child, "close").then(([code, signal]) => {
    // A connection that nobody closed is told at the end only.
    if (code !== 0 || said.includes("Warning")) throw new Error(`${path} ended with ${code ?? signal}:\n${said}`)
  })
  return { child, said: () => said, ended }
}
