/** The programs from a few files: in a copy of the sources, so that no other test finds these files. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { freePort } from "../../support/freePort.ts"

const root = join(import.meta.dirname, "../../..")
const key = `atoll_live_${"q".repeat(43)}`
const mark = "the program came from its files"

let copy = ""
const inCopy = (path: string) => join(copy, path)
const programs = () => inCopy("node_modules/.cache/atoll/programs")
const list = () => JSON.parse(readFileSync(join(programs(), "files.json"), "utf8")) as { readonly folder: string }
const fileOf = (name: string) => join(programs(), list().folder, name)

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "atoll-quick-"))
  // The database may run as another user.
  chmodSync(copy, 0o711)
  for (const name of ["src", "machines", "schemas", "docs", "clients", "package.json", "package-lock.json"]) {
    cpSync(join(root, name), inCopy(name), { recursive: true, filter: (path) => !path.includes("node_modules") })
  }
  mkdirSync(inCopy("node_modules"))
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== ".cache") symlinkSync(join(root, "node_modules", name), inCopy(join("node_modules", name)))
  }
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

const environment = () => ({ PATH: process.env["PATH"], ...compiledOnce, TMPDIR: process.env["TMPDIR"] })
const maker = () => inCopy("src/platform/quickStart/makeProgramFiles.ts")
const make = () => execFileSync(process.execPath, [maker()], { env: environment() })

/** A source that is as young as the files is not trusted. */
const aged = () => new Promise((resolve) => setTimeout(resolve, 200))

/** Makes the files again, and marks the service's. */
const makeMarked = () => {
  rmSync(programs(), { recursive: true, force: true })
  make()
  appendFileSync(fileOf("ServiceProgram.mjs"), `\nconsole.log(${JSON.stringify(mark)})\n`)
}

/** Starts the copy's service, and returns what it says until `use` is done. */
const served = async (use: (base: string) => Promise<void> = async () => {}): Promise<string> => {
  const port = await freePort()
  const child = spawn(process.execPath, [inCopy("src/main.ts")], {
    env: {
      ...environment(),
      ATOLL_DATA_DIR: inCopy("data"),
      ATOLL_RUNTIME: "simulated",
      ATOLL_PORT: String(port),
      ATOLL_BOOTSTRAP_API_KEY: key
    },
    stdio: ["ignore", "pipe", "inherit"]
  })
  let said = ""
  child.stdout.on("data", (data: Buffer) => (said += data.toString()))
  const ended = once(child, "exit")
  const base = `http://127.0.0.1:${port}`
  try {
    while (!(await fetch(`${base}/readyz`).catch(() => null))?.ok) {
      assert.isNull(child.exitCode, said)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await use(base)
  } finally {
    child.kill("SIGTERM")
    await ended
  }
  return said
}

it("a service starts from its files, and reads what lies beside its sources", async () => {
  makeMarked()
  const said = await served(async (base) => {
    const headers = { authorization: `Bearer ${key}` }
    for (const path of ["/docs", "/api/v2/machines", "/api/v2/openapi.json", "/console/"]) {
      const answer = await fetch(`${base}${path}`, { headers })
      assert.strictEqual(answer.status, 200, path)
      assert.isNotEmpty(await answer.text(), path)
    }
    assert.deepStrictEqual(await (await fetch(`${base}/api/v2/sandboxes`, { headers })).json(), {
      sandboxes: [],
      nextCursor: null
    })
  })
  assert.include(said, mark)
})

it("so does the operator's command line", () => {
  makeMarked()
  appendFileSync(fileOf("OperatorProgram.mjs"), `\nconsole.error(${JSON.stringify(mark)})\n`)
  const asked = (...words: ReadonlyArray<string>) =>
    spawnSync(process.execPath, [inCopy("src/cli/atoll.mjs"), ...words], {
      encoding: "utf8",
      env: { ...environment(), ATOLL_DATA_DIR: inCopy("data") }
    })
  const help = asked("keys", "--help")
  assert.strictEqual(help.status, 0, help.stderr)
  assert.include(help.stderr, mark)
  assert.include(help.stdout, "create")
  const doctor = asked("doctor", "--json")
  assert.include(doctor.stderr, mark)
  assert.isObject(JSON.parse(doctor.stdout))
  appendFileSync(inCopy("machines/sandbox.ts"), "\n")
  const ofSources = asked("keys", "--help")
  assert.strictEqual(ofSources.stdout, help.stdout)
  assert.notInclude(ofSources.stderr, mark)
})

it("a changed source and a broken file make a start load the sources", async () => {
  makeMarked()
  appendFileSync(inCopy("machines/sandbox.ts"), "\n")
  assert.notInclude(await served(), mark)

  await aged()
  makeMarked()
  assert.include(await served(), mark)
  writeFileSync(fileOf("ServiceProgram.mjs"), `console.log(${JSON.stringify(mark)})\nimport "./gone.mjs"\n`)
  assert.notInclude(await served(), mark)
})

it("files of unchanged sources are not made again, those of changed ones beside the previous", {
  timeout: 60_000
}, async () => {
  makeMarked()
  make()
  assert.include(readFileSync(fileOf("ServiceProgram.mjs"), "utf8"), mark)
  const before = list().folder
  appendFileSync(inCopy("machines/sandbox.ts"), "\n")
  await aged()
  make()
  assert.notStrictEqual(list().folder, before)
  // A service that started from them may still load some.
  assert.isTrue(existsSync(join(programs(), before, "ServiceProgram.mjs")))
})

it("one process makes the files, and one that was killed does not keep others from it", () => {
  rmSync(programs(), { recursive: true, force: true })
  const lock = join(programs(), "lock")
  mkdirSync(lock, { recursive: true })
  make()
  assert.isFalse(existsSync(join(programs(), "files.json")))
  const longAgo = new Date(Date.now() - 10 * 60_000)
  utimesSync(lock, longAgo, longAgo)
  make()
  assert.isTrue(existsSync(join(programs(), "files.json")))
  assert.isFalse(existsSync(lock))
})

it("files that cannot be loaded are never used", () => {
  rmSync(programs(), { recursive: true, force: true })
  const path = inCopy("src/app/HostProgram.ts")
  const source = readFileSync(path)
  appendFileSync(path, `\nthrow new Error("unusable")\n`)
  const { status } = spawnSync(process.execPath, [maker()], { env: environment() })
  writeFileSync(path, source)
  assert.notStrictEqual(status, 0)
  assert.isFalse(existsSync(join(programs(), "files.json")))
})
