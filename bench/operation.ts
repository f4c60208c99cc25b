/**
 * What one operation of `true` costs: a client starts it and waits for its end over HTTP, in a Sandbox of the namespace runtime.
 * The CPU of the service and of all processes of its database, and the bytes of write-ahead log, for each operation: for one client,
 * and for 20 clients, in three rounds; the figures of 20 clients are the headline. BENCH_SOURCES names the folder of another version to measure.
 */
import { join } from "node:path"
import { type BenchPostgres, withPostgres } from "./BenchPostgres.ts"
import { BenchService, quantile } from "./BenchService.ts"
import { headlines } from "./Headline.ts"

const sources = process.env["BENCH_SOURCES"] ?? join(import.meta.dirname, "..")
const seconds = Number(process.env["BENCH_SECONDS"] ?? 10)
const warmUpSeconds = 3
const manyClients = 20
const clientCounts = [1, manyClients]
const rounds = 3

interface Answer {
  readonly operation: { readonly id: string; readonly finishedAt: string | null; readonly exitCode: number | null }
}

const operate = async (service: BenchService, sandboxId: string): Promise<void> => {
  const at = `/sandboxes/${sandboxId}/operations`
  let { operation } = await service.call<Answer>("POST", at, { argv: ["true"] })
  while (operation.finishedAt === null)
    operation = (await service.call<Answer>("POST", `${at}/${operation.id}/wait`, {})).operation
  if (operation.exitCode !== 0) throw new Error(JSON.stringify(operation))
}

/** Milliseconds of each operation. */
const load = async (
  service: BenchService,
  sandboxId: string,
  clients: number,
  forSeconds: number
): Promise<ReadonlyArray<number>> => {
  const took: Array<number> = []
  const end = performance.now() + forSeconds * 1000
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const before = performance.now()
        await operate(service, sandboxId)
        took.push(performance.now() - before)
      }
    })
  )
  return took
}

const used = async (service: BenchService, database: BenchPostgres) => {
  const [log] = await database.rows<{ wal: number; transitions: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal, (select count(*)::int4 from transitions) as transitions`
  )
  return { ...log!, service: await service.cpuSeconds(), database: await database.cpuSeconds() }
}

await withPostgres((database) =>
  BenchService.use(
    {
      ATOLL_RUNTIME: process.env["ATOLL_RUNTIME"] ?? "namespace",
      ATOLL_VOLUME_BYTES: String(512 * 1024 ** 2),
      DATABASE_URL: database.url
    },
    async (service) => {
      const sandboxId = await service.sandbox(await service.workspace())
      const rows = []
      for (const clients of clientCounts) {
        await load(service, sandboxId, clients, warmUpSeconds)
        // A page's first change after a checkpoint is logged as a whole page; which pages that are depends on when the last one was.
        await database.rows("checkpoint")
        await load(service, sandboxId, clients, 1)
        for (let round = 0; round < rounds; round++) {
          const before = await used(service, database)
          const took = await load(service, sandboxId, clients, seconds / rounds)
          const after = await used(service, database)
          const each = (key: keyof typeof after) => (after[key] - before[key]) / took.length
          rows.push({
            clients,
            "operations/s": Math.round((took.length / seconds) * rounds),
            "p50 ms": Number(quantile(took, 0.5).toFixed(1)),
            "service CPU ms": Number((1000 * each("service")).toFixed(2)),
            "Postgres CPU ms": Number((1000 * each("database")).toFixed(2)),
            "WAL kB": Number((each("wal") / 1000).toFixed(1)),
            transitions: Number(each("transitions").toFixed(1))
          })
        }
      }
      console.table(rows)
      const name = `an operation of true, ${manyClients} clients`
      headlines(
        rows.filter(({ clients }) => clients === manyClients),
        [
          {
            name: `${name}: CPU of the service`,
            unit: "ms",
            better: "lower",
            column: "service CPU ms",
            aim: { value: 2.5 }
          },
          {
            name: `${name}: CPU of Postgres`,
            unit: "ms",
            better: "lower",
            column: "Postgres CPU ms",
            aim: { value: 1.8 }
          },
          { name: `${name}: write-ahead log`, unit: "kB", better: "lower", column: "WAL kB", aim: { value: 7 } }
        ]
      )
    },
    { sources }
  )
)
