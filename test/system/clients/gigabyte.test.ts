/**
 * Exactly 1 GB into a Sandbox through each client, as a process of its own, and out of it again: its memory stays as it was with a tenth of it.
 * Out of it with all of that through the TypeScript library only, on which the command line stands too, for each GB takes seconds; else a fifth.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Atoll, type SandboxHandle } from "../../../clients/typescript/src/index.ts"
import { plainEnvironment } from "../../../scripts/release/Pythons.ts"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { freshDriver, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../support/ServedAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { type Environment, main, startProcess } from "./cli/Customer.ts"
import { libraryFolder, python, pythonObstacle } from "./python/Python.ts"

const MiB = 1024 ** 2
const small = 100_000_000
const large = 1_000_000_000
/** What a process may take more for a larger file: pieces that were not collected yet. */
const marginBytes = 128 * MiB

/** Of what goes through, the most that the processes of a fleet may have taken together for it, garbage included. */
const passesAtOnce = large / 2

const environment = { ATOLL_VOLUME_BYTES: String(1400 * MiB) }

interface Place {
  readonly sandbox: SandboxHandle
  /** With a file of each size here, of zeros, named by it. */
  readonly folder: string
  readonly url: string
  readonly key: string
}

type Direction = "up" | "down"

/** The peaks of a process's memory after the first file, and after the second, in bytes. The files are named by their sizes. */
type Transfer = (place: Place, direction: Direction, sizes: ReadonlyArray<number>) => Promise<ReadonlyArray<number>>

const told = async (
  program: string,
  words: ReadonlyArray<string>,
  env: Environment
): Promise<ReadonlyArray<number>> => {
  const { code, stdout, stderr } = await startProcess(program, words, env, "").ended
  assert.strictEqual(`${code}: ${stderr}`, "0: ")
  return JSON.parse(stdout)
}

const byTypescript: Transfer = ({ sandbox, url, key }, direction, sizes) =>
  told(
    process.execPath,
    [join(import.meta.dirname, "fixtures/transfer.ts"), sandbox.id, direction, ...sizes.map(String)],
    {
      ...compiledOnce,
      ATOLL_URL: url,
      ATOLL_API_KEY: key
    }
  )

const byPython: Transfer = ({ folder, sandbox, url, key }, direction, sizes) =>
  told(
    python,
    [join(import.meta.dirname, "fixtures/transfer.py"), sandbox.id, direction, folder, ...sizes.map(String)],
    {
      ...plainEnvironment,
      ATOLL_URL: url,
      ATOLL_API_KEY: key,
      PYTHONPATH: join(libraryFolder, "src")
    }
  )

/** Null: it has ended. */
const peakOf = (pid: number): number | null => {
  try {
    const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
    return found === null ? null : Number(found[1]) * 1024
  } catch {
    return null
  }
}

/** Each by a process of its own, and what it downloads goes to stdout. */
const byCommandLine: Transfer = async ({ folder, sandbox, url, key }, direction, sizes) => {
  const peaks: Array<number> = []
  for (const size of sizes) {
    const there = `${sandbox.id}:${size}`
    const words = direction === "up" ? [join(folder, String(size)), there] : [there, "-"]
    const child = spawn(process.execPath, [main, "cp", ...words], {
      env: { ...compiledOnce, HOME: folder, ATOLL_URL: url, ATOLL_API_KEY: key },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let peak = 0
    let bytes = 0
    const looking = setInterval(() => {
      peak = peakOf(child.pid!) ?? peak
    }, 50)
    child.stdout.on("data", (piece: Buffer) => {
      bytes += piece.length
    })
    const [code] = await once(child, "close")
    clearInterval(looking)
    assert.deepStrictEqual([code, bytes], [0, direction === "up" ? 0 : size])
    peaks.push(peak)
  }
  return peaks
}

const inPlace = (test: (place: Place) => Promise<void>) =>
  Effect.gen(function* () {
    const { key, port, residentBytes } = yield* ServedAtoll
    const folder = yield* testFolder
    for (const size of [small, large]) {
      const path = join(folder, String(size))
      writeFileSync(path, "")
      truncateSync(path, size)
    }
    const url = `http://127.0.0.1:${port}`
    const atoll = new Atoll({ apiKey: key, url })
    yield* Effect.promise(async () => {
      await using sandbox = await atoll.sandboxes.create({ networkEnabled: false })
      const before = residentBytes()
      await test({ sandbox, folder, url, key })
      if (isOverAFleet) assert.isBelow(residentBytes() - before, passesAtOnce)
    })
  })

const isFlat = (peaks: ReadonlyArray<number>): void => {
  const [small = 0, large = Number.POSITIVE_INFINITY] = peaks
  assert.isAbove(small, 0)
  assert.isAtMost(large, small + marginBytes, `${peaks.map((peak) => Math.round(peak / MiB)).join(" and ")} MiB`)
}

/** Each client, and how large what it downloads is. */
const clients: ReadonlyArray<readonly [name: string, transfer: Transfer, down: number]> = [
  ["the TypeScript library", byTypescript, large],
  ["the Python library", byPython, large / 5],
  ["atoll cp", byCommandLine, large / 5]
]

describe.skipIf(skipped(unusable ?? pythonObstacle))("1 GB", () => {
  layer(ServedAtoll.layer(freshDriver(environment), environment).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    for (const [name, transfer, down] of clients) {
      it.effect(`goes through ${name} in flat memory`, () =>
        inPlace(async (place) => {
          const { sandbox } = place
          isFlat(await transfer(place, "up", [small, large]))
          assert.strictEqual((await sandbox.files.stat(String(large))).sizeBytes, large)
          // What was not written is read more cheaply.
          const zeros = `rm ${small} ${large}; for size in ${small} ${down}; do truncate -s $size $size; done`
          assert.strictEqual((await sandbox.run(["sh", "-c", zeros])).exitCode, 0)
          isFlat(await transfer(place, "down", [small, down]))
        })
      )
    }
  })
})
