/**
 * Log queries of one Sandbox with 1,000,000 entries, over HTTP. The entries are put into the store in the shape in which the service writes
 * them: 200 operations of a day, mostly standard output, with a few synchronous commands; nothing from the console.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { databaseOf } from "./BenchDatabase.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"

const entries = 1_000_000
const owners = 200
const dayMs = 24 * 60 * 60 * 1000
const rounds = 60

const fill = (sandboxId: string, until: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const batch = 100_000
    for (let first = 0; first < entries; first += batch) {
      yield* sql`
        insert into output_chunks (owner_id, stream, sandbox_id, source, start_offset, end_offset, at, bytes)
        select 'op_' || md5((n * ${owners} / ${entries})::text), case when n % 10 = 0 then 'stderr' else 'stdout' end, ${sandboxId},
               case when n % 100 = 1 then 'execute' else 'process' end, n::bigint * 128, n::bigint * 128 + 128,
               ${BigInt(until - dayMs)} + n::bigint * ${dayMs} / ${entries}, convert_to(rpad('entry ' || n, 128, '.'), 'UTF8')
        from generate_series(${first}::int, ${first + batch - 1}::int) as n`
    }
    yield* sql`
      insert into outputs (owner_id, stream, sandbox_id, source, next_offset, retained_offset)
      select owner_id, stream, min(sandbox_id), min(source), max(end_offset), min(start_offset) from output_chunks
      where sandbox_id = ${sandboxId} group by owner_id, stream on conflict do nothing`
  })

await BenchService.use({ ATOLL_RUNTIME: process.env["ATOLL_RUNTIME"] ?? "namespace" }, async (service) => {
  const id = await service.sandbox(await service.workspace())
  const now = Date.now()
  await Effect.runPromise(fill(id, now).pipe(Effect.provide(databaseOf(service.databaseSocketFolder))))

  const query = async (what: string, search: string, wanted: number) => {
    const ask = async () => {
      const { logs } = await service.call<{ logs: { entries: ReadonlyArray<unknown> } }>(
        "GET",
        `/sandboxes/${id}/logs?${search}`
      )
      if (logs.entries.length !== wanted) throw new Error(`${what}: ${logs.entries.length} entries and not ${wanted}`)
    }
    await timed(5, ask)
    const took = await timed(rounds, ask)
    return { what, "p50 ms": Number(quantile(took, 0.5).toFixed(1)), "p99 ms": Number(quantile(took, 0.99).toFixed(1)) }
  }
  const at = (share: number) => new Date(now - dayMs + share * dayMs).toISOString()
  console.table([
    await query("the newest 1,000", "limit=1000", 1000),
    await query("1,000 out of the middle", `limit=1000&since=${at(0.4)}&until=${at(0.6)}`, 1000),
    await query("1,000 of standard error", "limit=1000&stream=stderr", 1000),
    await query("1,000 of commands", "limit=1000&source=execute", 1000),
    await query("none of standard error from the console", "limit=1000&source=workload&stream=stderr", 0),
    await query("the newest 5,000", "limit=5000", 5000)
  ])
  console.log("wanted of a query for 1,000: 30 ms")
})
