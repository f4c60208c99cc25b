/** The package for other repositories: packed, installed by npm in a folder outside of this one, without a registry, and used there. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { stopServer } from "../../../src/ops/postgres/Postmaster.ts"

const root = join(import.meta.dirname, "../../..")
const room = mkdtempSync(join(tmpdir(), "atoll-outside-"))
const data = join(room, "data")

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** What a registry would bring: the packages that these need, by their folders. */
const neededBy = (names: ReadonlyArray<string>): ReadonlySet<string> => {
  const locked: Readonly<Record<string, Locked>> = JSON.parse(
    readFileSync(join(root, "node_modules/.package-lock.json"), "utf8")
  ).packages
  const found = new Set<string>()
  const visit = (name: string) => {
    const folder = `node_modules/${name}`
    if (!(folder in locked) || found.has(folder)) return
    found.add(folder)
    const { dependencies, optionalDependencies, peerDependencies } = locked[folder]!
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) visit(next)
  }
  for (const name of names) visit(name)
  return found
}

/** Hard links where both are on one file system: the packages have 90 MB. */
const copyPackage = (folder: string): void => {
  const ends = [join(root, folder), join(room, folder)]
  try {
    execFileSync("cp", ["-al", ...ends], { stdio: "ignore" })
  } catch {
    rmSync(ends[1]!, { recursive: true, force: true })
    execFileSync("cp", ["-a", ...ends])
  }
}

/** Lines of the lock's program, as they come, and its end. */
const start = () => {
  const words = ["lease/main.ts", "--data", data, "--lease-ms", "9000"]
  const child = spawn(process.execPath, words, { cwd: room, stdio: ["ignore", "pipe", "inherit"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    end: async (signal: NodeJS.Signals) => {
      const ended = once(child, "exit")
      child.kill(signal)
      return (await ended)[0] as number | null
    },
    /** The next line that has it. */
    line: async (pattern: RegExp) => {
      while (true) {
        const { value, done } = await lines.next()
        if (done === true) throw new Error(`The lock ended before it said ${pattern}.`)
        const match = pattern.exec(value)
        if (match !== null) return match
      }
    }
  }
}

beforeAll(() => {
  // The user of the embedded server has to reach it.
  chmodSync(room, 0o711)
  const out = execFileSync(process.execPath, ["scripts/pack.ts", "--out", room], { cwd: root, encoding: "utf8" }).trim()
  const manifest = JSON.parse(execFileSync("tar", ["xzOf", out, "package/package.json"], { encoding: "utf8" }))
  for (const folder of neededBy(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))) {
    mkdirSync(join(room, dirname(folder)), { recursive: true })
    copyPackage(folder)
  }
  writeFileSync(join(room, "package.json"), '{"name":"user","private":true,"type":"module"}\n')
  const npm = join(root, "node_modules/npm/bin/npm-cli.js")
  execFileSync(
    process.execPath,
    [npm, "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", out],
    { cwd: room, env: { ...process.env, HOME: room } }
  )
  // As its sources are: nothing of this repository but the package.
  cpSync(join(root, "examples/lease"), join(room, "lease"), { recursive: true })
})

afterAll(async () => {
  await stopServer(join(data, "postgres")).catch(() => {})
  rmSync(room, { recursive: true, force: true })
})

describe("the package atoll, outside of this repository", () => {
  it("has types, by a strict compiler", () => {
    const flags =
      "--noEmit --strict --module nodenext --target es2024 --skipLibCheck --allowImportingTsExtensions --types node"
    execFileSync(
      process.execPath,
      [join(root, "node_modules/typescript/bin/tsc"), ...flags.split(" "), "lease/main.ts", "lease/prove.ts"],
      { cwd: room, stdio: "inherit" }
    )
  })

  it("runs the lock, which is still held after kill -9, and ends when its lease ends", async () => {
    const first = start()
    const [, page] = await first.line(/chart: (\S+)/)
    const [, until] = await first.line(/held by ann with token 1 until (\S+), waiting: ben/)
    assert.include(await (await fetch(page!)).text(), 'data-state="held"')
    const told = await (await fetch(`${page}states`)).body!.getReader().read()
    assert.include(new TextDecoder().decode(told.value), '"state":"held"')
    await first.end("SIGKILL")

    const second = start()
    await second.line(new RegExp(`found: held by ann with token 1 until ${until}, waiting: ben`))
    const [, at] = await second.line(/^(\S+) held by ben with token 2/)
    assert.isAtLeast(Date.parse(at!), Date.parse(until!))
    assert.isBelow(Date.parse(at!), Date.parse(until!) + 5_000)
    assert.strictEqual(await second.end("SIGTERM"), 0)
  })
})
