/** A fresh, durable (fsync on) embedded Postgres for services that a benchmark starts; removed at its end. */
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, ManagedRuntime } from "effect"
import { EmbeddedPostgres } from "../src/ops/postgres/EmbeddedPostgres.ts"

const client = Layer.unwrap(
  Effect.map(EmbeddedPostgres, ({ socketPath, username }) =>
    PgClient.layer({ path: socketPath, username, database: "postgres", maxConnections: 1 })
  )
)

/** The fields of /proc/PID/stat behind the name; null: it has ended. */
const statOf = (pid: string) =>
  readFile(`/proc/${pid}/stat`, "latin1").then(
    (stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" "),
    () => null
  )

export interface BenchPostgres {
  /** For DATABASE_URL. */
  readonly url: string
  readonly rows: <A extends object>(statement: string) => Promise<ReadonlyArray<A>>
  /** CPU seconds that all of its processes have used. */
  readonly cpuSeconds: () => Promise<number>
}

export const withPostgres = async <A>(run: (database: BenchPostgres) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-bench-"))
  await chmod(folder, 0o711)
  const runtime = ManagedRuntime.make(
    client.pipe(Layer.provideMerge(EmbeddedPostgres.at({ home: join(folder, "postgres"), durable: true })))
  )
  try {
    const server = await runtime.runPromise(EmbeddedPostgres)
    const postmaster = String(await runtime.runPromise(server.pid))
    return await run({
      url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(server.socketFolder)}`,
      rows: <R extends object>(statement: string) =>
        runtime.runPromise(Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<R>(statement))),
      cpuSeconds: async () => {
        let ticks = 0
        for (const pid of await readdir("/proc")) {
          if (!/^\d+$/.test(pid)) continue
          const stat = await statOf(pid)
          // Its own and those of the processes that it has waited for; and those of each live one.
          if (pid === postmaster) for (const at of [11, 12, 13, 14]) ticks += Number(stat?.[at] ?? 0)
          else if (stat?.[1] === postmaster) for (const at of [11, 12]) ticks += Number(stat[at])
        }
        return ticks / 100
      }
    })
  } finally {
    await runtime.dispose()
    await rm(folder, { recursive: true, force: true })
  }
}
