/** The programs of both libraries' `examples/`, run as a user runs them, against the real service. */
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, readdirSync, readFileSync } from "node:fs"
import { get } from "node:http"
import { join, parse } from "node:path"
import { text } from "node:stream/consumers"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Atoll } from "../../../clients/typescript/src/index.ts"
import { plainEnvironment } from "../../../scripts/release/Pythons.ts"
import { layerWorld } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { freshDriver, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../support/ServedAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { linesOfCode } from "./linesOfCode.ts"
import { python, libraryFolder as pythonFolder, pythonObstacle } from "./python/Python.ts"
import { type Running, runProgram } from "./runProgram.ts"
import { installLibrary, runTsc, typescriptFolder } from "./typescript/installLibrary.ts"

const root = join(import.meta.dirname, "../../..")
const small = { ATOLL_VOLUME_BYTES: String(32 * 1024 ** 2) }

/** A user's folder, with the examples, whose types are checked. */
const typescriptUser = async (folder: string): Promise<void> => {
  await installLibrary(folder)
  for (const file of readdirSync(join(typescriptFolder, "examples")))
    copyFileSync(join(typescriptFolder, "examples", file), join(folder, file))
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,esnext,dom"]
  const types = ["--typeRoots", join(root, "node_modules/@types"), "--types", "node"]
  await runTsc(folder, ...options, ...types, ...readdirSync(folder).filter((file) => file.endsWith(".ts")))
}

type Example = "chart" | "devServer" | "build" | "agent" | "hundred" | "forks" | "migration"
/** As many as simulated machines carry, and fewer real ones. */
const atOnce = isOverAFleet ? 12 : 100

type Starting = (example: Example, ...args: ReadonlyArray<string>) => Running

/** All that were started. */
const children = new Set<ChildProcess>()

const startIn =
  (folder: string, environment: Readonly<Record<string, string>>) =>
  (command: string, args: ReadonlyArray<string>): Running => {
    const program = runProgram(command, args, { ...plainEnvironment, ...environment }, folder)
    program.child.stdin?.end()
    children.add(program.child)
    return program
  }

/** The first group of the pattern in what it says, as soon as it says so. */
const hears = async ({ said, ended }: Running, pattern: RegExp): Promise<ReadonlyArray<string>> => {
  let isOver = false
  ended.then(
    () => (isOver = true),
    () => (isOver = true)
  )
  for (;;) {
    const found = pattern.exec(said())
    if (found !== null) return found.slice(1)
    if (isOver) throw new Error(`It ended without ${pattern}:\n${said()}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

/** What a browser gets, which knows that names below localhost are this machine. */
const page = async (url: string): Promise<string> => {
  const { host, port, pathname } = new URL(url)
  const [answer] = await once(get({ host: "127.0.0.1", port, path: pathname, headers: { host } }), "response")
  return text(answer)
}

const tries: Readonly<Record<Example, (start: Starting, folder: string, atoll: Atoll) => Promise<void>>> = {
  chart: async (start, folder) => {
    assert.include(await start("chart", "drawn.svg").ended, "100 points: open drawn.svg")
    assert.match(readFileSync(join(folder, "drawn.svg"), "utf8"), /^<svg .*<polyline .*<\/svg>$/)
  },
  devServer: async (start) => {
    const program = start("devServer")
    const [url] = await hears(program, /Open (\S+)\n/)
    while ((await page(url!)) !== "<h1>Hello again</h1>") await new Promise((done) => setTimeout(done, 50))
    await hears(program, /"GET \/ HTTP\/1.1" (200) -/)
    program.child.kill("SIGINT")
    await program.ended
  },
  build: async (start, _folder, atoll) => {
    const first = start("build")
    const ids = await hears(first, /build\.\w+ (sbx_\w+) (op\w*_\w+)\n[\s\S]*building lexer/)
    first.child.kill("SIGKILL")
    const said = await start("build", ...ids).ended
    assert.match(said, /\nbuilding lexer\nbuilding parser\nbuilding checker\nbuilding linker\nbuilt: done\n/)
    assert.strictEqual((await atoll.sandboxes.get(ids[0]!)).status, "deleted")
  },
  agent: async (start) => {
    const said = await start("agent").ended
    assert.match(said, /attempt 1: FAILED.*\nattempt 2: FAILED.*\nattempt 3: OK\n/)
    assert.include(said, "return max(0, sum(prices) - discount)")
  },
  forks: async (start, _folder, atoll) => {
    const said = await start("forks").ended
    assert.lengthOf(said.match(/ fails\n/g)!, 4)
    const [, id] = /kept (sbx_\w+):/.exec(said)!
    const kept = await atoll.sandboxes.get(id!)
    assert.include(await kept.files.readText("prices.py"), "return max(0, sum(prices) - discount)")
    await kept.delete()
  },
  migration: async (start, _folder, atoll) => {
    const said = await start("migration").ended
    assert.match(said, /migration: exit code 1, 0 orders left\nrolled back: 3 orders\n/)
    const [, id] = /to look at what failed: (snp_\w+) until/.exec(said)!
    await (await atoll.snapshots.get(id!)).delete()
  },
  hundred: async (start) => {
    const sum = Array.from({ length: atOnce }, (_, n) => n * n).reduce((sum, square) => sum + square)
    const said = await start("hundred", ...(isOverAFleet ? [String(atOnce)] : [])).ended
    assert.include(said, `the sum of ${atOnce} squares is ${sum}`)
  }
}

/** What is left of an account when all its programs have ended: nothing that lives. */
const living = async (atoll: Atoll): Promise<number> => {
  let count = 0
  for await (const sandbox of atoll.sandboxes.list({ status: ["pending", "running"] })) if (sandbox.id) count++
  return count
}

const typescript = async (folder: string, environment: Readonly<Record<string, string>>): Promise<Starting> => {
  await typescriptUser(folder)
  const start = startIn(folder, environment)
  return (example, ...args) => start(process.execPath, [`${example}.ts`, ...args])
}

const ofPython = (example: Example): string =>
  join(pythonFolder, "examples", `${example === "devServer" ? "dev_server" : example}.py`)

const inPython = async (folder: string, environment: Readonly<Record<string, string>>): Promise<Starting> => {
  const start = startIn(folder, { ...environment, PYTHONPATH: join(pythonFolder, "src") })
  return (example, ...args) => start(python, [ofPython(example), ...args])
}

/** All at once, and nothing that lives is left of them. */
const walk = (startsOf: typeof typescript, examples: ReadonlyArray<Example>) =>
  Effect.gen(function* () {
    const { key, port } = yield* ServedAtoll
    const folder = yield* testFolder
    const url = `http://127.0.0.1:${port}`
    const atoll = new Atoll({ apiKey: key, url })
    yield* Effect.promise(async () => {
      const start = await startsOf(folder, { ATOLL_API_KEY: key, ATOLL_URL: url })
      await Promise.all(examples.map((example) => tries[example](start, folder, atoll)))
      assert.strictEqual(await living(atoll), 0)
    })
  }).pipe(
    // Where one failed, the others still run.
    Effect.ensuring(Effect.sync(() => children.forEach((child) => void child.kill("SIGKILL"))))
  )

const others = Object.keys(tries).filter((example) => example !== "hundred") as ReadonlyArray<Example>

it("are the same in both languages", () => {
  const filesOf = (folder: string) =>
    readdirSync(folder).map((file) => parse(file).name.replace("dev_server", "devServer"))
  const all = Object.keys(tries).toSorted()
  assert.deepStrictEqual(filesOf(join(typescriptFolder, "examples")).toSorted(), all)
  assert.deepStrictEqual(filesOf(join(pythonFolder, "examples")).toSorted(), all)
})

/** In the order of clients/EXAMPLES.md. */
const compared: ReadonlyArray<Example> = ["chart", "devServer", "build", "agent", "hundred"]

it("are as short as is said, and no longer than those of other services", () => {
  const cells = readFileSync(join(root, "clients/EXAMPLES.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) => line.split("|").map((cell) => cell.trim()))
  let at = -1
  const theirs = compared.map((): Array<number> => [])
  const said: Array<ReadonlyArray<number>> = []
  for (const [, program, typescript, python, , lines] of cells) {
    if (program !== "") at = said.push([Number(typescript), Number(python)]) - 1
    theirs[at]!.push(Number(lines))
  }
  const found = compared.map((example) => [
    linesOfCode(readFileSync(join(typescriptFolder, "examples", `${example}.ts`), "utf8"), "typescript"),
    linesOfCode(readFileSync(ofPython(example), "utf8"), "python")
  ])
  assert.deepStrictEqual(said, found)
  for (const [index, ours] of found.entries())
    assert.isAtMost(Math.max(...ours), Math.min(...theirs[index]!), compared[index])
})

describe.skipIf(skipped(unusable ?? pythonObstacle))("the examples", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("of TypeScript do what they say", () => walk(typescript, others))
    it.effect("of Python do the same", () => walk(inPython, others))
  })
})

/** A hundred real ones are a hundred boots, which says nothing more of the libraries. */
describe.skipIf(skipped(pythonObstacle))("many Sandboxes at once", () => {
  const many = { ...small, ATOLL_SANDBOXES_PER_ACCOUNT: "100" }
  const simulated = Layer.unwrap(Effect.map(SimulatedWorld.make, layerWorld))
  layer(ServedAtoll.layer(simulated, many).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("in TypeScript", () => walk(typescript, ["hundred"]))
    it.effect("in Python", () => walk(inPython, ["hundred"]))
  })
})
