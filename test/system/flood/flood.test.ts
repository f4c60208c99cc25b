/**
 * A command that never stops writing, beside another tenant. `npm run test:flood -- --seconds 600` runs it for long,
 * with the default settings.
 * @source docs/settings.md "ATOLL_OUTPUT_BYTES_PER_SECOND"
 */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { assert, it } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"

const mebibyte = 1024 ** 2
const long = Number(process.env["ATOLL_FLOOD_SECONDS"] || 0)
const seconds = long || 8

/** The assertions follow from these. */
const settings = {
  burstBytes: (long ? 256 : 16) * mebibyte,
  bytesPerSecond: (long ? 4 : 2) * mebibyte,
  retentionBytes: (long ? 16 : 1) * mebibyte
}

/**
 * The table: what it keeps (and 4 MiB until the next trim), deleted rows before the next vacuum, and what a burst adds
 * while that one runs.
 * The log: `max_wal_size`, or, in a short run, all that was written, twice for the pages that are logged whole after a
 * checkpoint.
 */
const bounds = {
  databaseBytes: settings.retentionBytes + 4 * mebibyte + 64 * mebibyte + settings.burstBytes + 32 * mebibyte,
  logBytes: long ? 1280 * mebibyte : 96 * mebibyte + 3 * (settings.burstBytes + seconds * settings.bytesPerSecond)
}
/** Of a request, at its median: so many times its duration before, and a moment of the machine's. */
const slower = { times: 4, andMs: 200 }

const sizeOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    // Files come and go during the count.
    if (entry.isDirectory()) return sum + sizeOf(path)
    return sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  }, 0)

const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

it("a service bounds what an endless writer costs the host's disk, and its neighbour is not affected", {
  timeout: 120_000 + seconds * 2000
}, async (context) => {
  const found = await Effect.runPromise(probe)
  if (!found.ok) {
    console.warn(`Skipped: ${found.reason}`)
    return context.skip(found.reason)
  }
  const service = await ServiceProcess.make(
    long
      ? {}
      : {
          ATOLL_OUTPUT_BURST_BYTES: String(settings.burstBytes),
          ATOLL_OUTPUT_BYTES_PER_SECOND: String(settings.bytesPerSecond),
          ATOLL_OUTPUT_RETENTION_BYTES: String(settings.retentionBytes)
        }
  )
  const ask = async (method: string, path: string, status: number, body?: unknown, key?: string) => {
    const answer = await service.ask(method, path, body, key)
    assert.strictEqual(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  try {
    await service.start()
    const { workspace } = await ask("POST", "/workspaces", 201, { name: "flood" }, "w")
    const sandboxes = []
    for (const name of ["chatty", "quiet"]) {
      const request = { workspaceId: workspace.id, name, networkEnabled: false }
      const { sandbox } = await ask("POST", "/sandboxes", 202, request, name)
      await ask("POST", `/sandboxes/${sandbox.id}/start`, 201)
      sandboxes.push(`/sandboxes/${sandbox.id}`)
    }
    const [chatty, quiet] = sandboxes as [string, string]

    const took = async (what: () => Promise<unknown>) => {
      const begun = performance.now()
      await what()
      return performance.now() - begun
    }
    const sample = async () => ({
      get: await took(() => ask("GET", quiet, 200)),
      execute: await took(() => ask("POST", `${quiet}/execute`, 200, { argv: ["true"] }))
    })
    const latencies = async (until: () => boolean) => {
      const samples = []
      do {
        samples.push(await sample())
        await sleep(20)
      } while (!until())
      return { get: median(samples.map(({ get }) => get)), execute: median(samples.map(({ execute }) => execute)) }
    }
    const folders = {
      database: join(service.dataDir, "postgres/data/base"),
      log: join(service.dataDir, "postgres/data/pg_wal")
    }
    const grown = { database: 0, log: 0 }
    const before = { database: sizeOf(folders.database), log: sizeOf(folders.log) }
    const measure = () => {
      grown.database = Math.max(grown.database, sizeOf(folders.database) - before.database)
      grown.log = Math.max(grown.log, sizeOf(folders.log) - before.log)
    }

    let left = 30
    const alone = await latencies(() => left-- <= 0)
    const { operation } = await ask("POST", `${chatty}/operations`, 202, { argv: ["yes"] }, "yes")
    const end = Date.now() + seconds * 1000
    const measuring = setInterval(measure, 100)
    const beside = await latencies(() => Date.now() > end).finally(() => clearInterval(measuring))
    measure()

    const path = `${chatty}/operations/${operation.id}`
    await ask("POST", `${path}/cancel`, 200)
    while ((await ask("GET", path, 200)).operation.processTree === "running") await sleep(50)
    const { stdoutBytes } = (await ask("GET", path, 200)).operation.output
    const page = await ask("GET", `${path}/output?stream=stdout&offset=0&limit=100000`, 200)
    console.info(
      JSON.stringify({
        seconds,
        writtenMiB: Math.round(stdoutBytes / mebibyte),
        databaseMiB: Math.round(grown.database / mebibyte),
        logMiB: Math.round(grown.log / mebibyte),
        alone,
        beside
      })
    )
    const allowance = settings.burstBytes + (seconds + 5) * settings.bytesPerSecond
    assert.isAtMost(stdoutBytes, allowance)
    // Its rate held it back, and nothing else.
    assert.isAtLeast(stdoutBytes, Math.min(settings.burstBytes, allowance / 4))
    assert.isTrue(page.truncated)
    assert.match(Buffer.from(page.data, "base64").toString("latin1"), /^y?\n?(y\n)*y?$/)
    assert.isAtLeast(page.offset, stdoutBytes - settings.retentionBytes)
    assert.isAtMost(grown.database, bounds.databaseBytes)
    assert.isAtMost(grown.log, bounds.logBytes)
    for (const request of ["get", "execute"] as const) {
      assert.isAtMost(beside[request], alone[request] * slower.times + slower.andMs, request)
    }
    for (const sandbox of sandboxes) await ask("DELETE", sandbox, 204)
    await service.stop()
    assert.deepStrictEqual(service.leftovers, [])
  } catch (error) {
    throw new Error(`${String(error)}\n${service.log}`)
  } finally {
    await service.kill()
    service.killPostgres()
    service.remove()
  }
})
