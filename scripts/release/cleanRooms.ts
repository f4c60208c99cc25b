/**
 * Installs what was built where nothing else is, on every engine and every Python that the libraries promise and this machine has, and uses it.
 *
 * It asks no service: `test/system/clients/` runs the whole job of both libraries against one, on the same engines.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Engine, engines } from "./ClientEngines.ts"
import { linkPackages, plainEnvironment, pythons } from "./Pythons.ts"
import { run } from "./run.ts"

export interface Room {
  readonly name: string
  /** Null: everything worked. */
  readonly fault: string | null
  /** Null: it is here. */
  readonly missing: string | null
}

const javascript = `import { Atoll, AtollError, ConnectionError } from "@atoll/client"
const atoll = new Atoll({ apiKey: "no-key", url: "http://127.0.0.1:9", patienceSeconds: 0 })
const thrown = await atoll.me().catch((thrown) => thrown)
if (!(thrown instanceof ConnectionError) || thrown instanceof AtollError) throw thrown
console.log("used", typeof atoll.sandboxes.create)
`

const typescript = `import { Atoll, AtollError } from "@atoll/client"
export const use = async (atoll: Atoll): Promise<string> => (await (await atoll.sandboxes.create()).run(["true"])).stdout
export const count = (error: AtollError): number => (error.is("TEXT_AMBIGUOUS") ? error.details.occurrences : 0)
`

const pythonProgram = `import asyncio, importlib.metadata, os, atoll

assert importlib.metadata.version("atoll") == atoll.__version__
assert os.path.exists(os.path.join(os.path.dirname(atoll.__file__), "py.typed"))
assert "room" in atoll.__file__, atoll.__file__
try:
    with atoll.Atoll(api_key="no-key", url="http://127.0.0.1:9", patience_seconds=0) as client:
        client.me()
except atoll.ConnectionError as error:
    print(error.outcome)

async def main() -> None:
    async with atoll.AsyncAtoll(api_key="no-key", url="http://127.0.0.1:9", patience_seconds=0) as client:
        try:
            await client.me()
        except atoll.ConnectionError as error:
            print("used", error.outcome)

asyncio.run(main())
`

const expected = (said: string, words: string): void => {
  if (!said.includes(words)) throw new Error(`It said ${JSON.stringify(said)} instead of ${JSON.stringify(words)}`)
}

const attempt = (name: string, work: () => void): Room => {
  try {
    work()
    return { name, fault: null, missing: null }
  } catch (thrown) {
    return { name, fault: (thrown as Error).message, missing: null }
  }
}

interface Packed {
  readonly root: string
  /** The package of npm. */
  readonly packed: string
  /** What `atoll --version` begins with. */
  readonly version: string
}

/** Without the registry: the package depends on nothing. */
const npmInstalled = ({ root, packed }: Packed, folder: string): NodeJS.ProcessEnv => {
  mkdirSync(folder)
  const env = { ...process.env, HOME: folder, PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}` }
  writeFileSync(join(folder, "package.json"), '{"name":"user","private":true,"type":"module"}\n')
  run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", packed], {
    cwd: folder,
    env
  })
  writeFileSync(join(folder, "use.js"), javascript)
  return env
}

const engineRoom = (built: Packed, engine: Engine, folder: string): Room => {
  if (engine.obstacle !== null) return { name: engine.name, fault: null, missing: engine.obstacle }
  return attempt(engine.name, () => {
    const env = npmInstalled(built, folder)
    expected(run(engine.program, [...engine.words, "use.js"], { cwd: folder, env }), "used function")
    if (!engine.isNode) return
    const main = join(folder, "node_modules/@atoll/client/dist/cli/main.js")
    expected(run(engine.program, [main, "--version"], { cwd: folder, env }), built.version)
  })
}

const npxRoom = (built: Packed, folder: string): Room =>
  attempt("npx, without an installation", () => {
    mkdirSync(folder)
    const env = {
      ...process.env,
      HOME: folder,
      PATH: `${join(built.root, "node_modules/.bin")}:${process.env["PATH"]}`
    }
    const args = ["--yes", "--offline", "--package", built.packed, "--", "atoll", "--version"]
    expected(run("npx", args, { cwd: folder, env }), built.version)
  })

const typesRoom = (built: Packed, folder: string): Room =>
  attempt("types, by a strict compiler", () => {
    const env = npmInstalled(built, folder)
    writeFileSync(join(folder, "use.ts"), typescript)
    const tsc = join(built.root, "node_modules/typescript/bin/tsc")
    const flags = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2022,esnext.disposable,dom"
    ]
    run(process.execPath, [tsc, ...flags, "use.ts"], { cwd: folder, env })
  })

const pythonRoom = (name: string, program: string | null, wheel: string, folder: string): Room => {
  if (program === null) return { name, fault: null, missing: `${name} is not installed here` }
  return attempt(name, () => {
    mkdirSync(folder)
    const options = { cwd: folder, env: plainEnvironment }
    run(program, ["-m", "venv", "--without-pip", "room"], options)
    const [version] = readdirSync(join(folder, "room/lib"))
    const packages = join(folder, "room/lib", version!, "site-packages")
    // A wheel of Python alone is installed when it is unpacked; httpx is Debian's.
    run(program, ["-m", "zipfile", "-e", wheel, packages], options)
    linkPackages(packages)
    writeFileSync(join(folder, "use.py"), pythonProgram)
    expected(run(join(folder, "room/bin/python"), ["-W", "error", "use.py"], options), "notApplied\nused notApplied")
  })
}

/** @param work An empty folder. */
export const cleanRooms = function* (built: Packed, wheel: string, work: string): Generator<Room> {
  let rooms = 0
  const folder = () => join(work, `room-${++rooms}`)
  for (const engine of engines) yield engineRoom(built, engine, folder())
  yield npxRoom(built, folder())
  yield typesRoom(built, folder())
  for (const { name, program } of pythons) yield pythonRoom(name, program, wheel, folder())
}
