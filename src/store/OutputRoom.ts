/**
 * Disk space for output: deletes chunks, counts the stored bytes of each Sandbox, and returns deleted space to the table.
 *
 * Lock order: the stream's row (in the order of their keys), then its chunks, then the Sandbox's count. So an append, a
 * follower that trims and a pruner never deadlock.
 */
import { Effect, Semaphore } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Disk space of a chunk besides its bytes, in the table and its indexes (measured: 300 to 340 bytes). */
export const chunkOverheadBytes = 320
/** Vacuums before dead rows exceed this, regardless of the server's own autovacuum. */
const vacuumEveryBytes = 64 * 1024 ** 2
/** A Sandbox above its share is cut to a little less, so that not every append cuts. */
const cutToShare = 15 / 16
const cutChunksMax = 1000

export interface Forgotten {
  readonly chunks: number
  /** On disk. */
  readonly bytes: number
}

/** `doomed` selects owner_id, stream, start_offset of chunks. Streams that another statement has locked are skipped this time. */
export const forgetStatement = (doomed: string) => `
  with doomed as materialized (${doomed}),
  held as materialized (
    select o.owner_id, o.stream from outputs o
    where (o.owner_id, o.stream) in (select owner_id, stream from doomed)
    order by o.owner_id, o.stream for update skip locked
  ), gone as (
    delete from output_chunks c using doomed d join held h on h.owner_id = d.owner_id and h.stream = d.stream
    where c.owner_id = d.owner_id and c.stream = d.stream and c.start_offset = d.start_offset
    returning c.owner_id, c.stream, c.sandbox_id, c.end_offset, c.end_offset - c.start_offset + ${chunkOverheadBytes} as bytes
  ), ends as (
    select owner_id, stream, max(end_offset) as upto from gone group by owner_id, stream
  ), kept as (
    update outputs o set retained_offset = greatest(o.retained_offset, e.upto) from ends e
    where o.owner_id = e.owner_id and o.stream = e.stream and (o.source = 'process' or o.next_offset > e.upto)
  ), emptied as (
    delete from outputs o using ends e
    where o.owner_id = e.owner_id and o.stream = e.stream and o.source <> 'process' and o.next_offset <= e.upto
  ), counted as (
    insert into output_totals as t (sandbox_id, stored_bytes)
    select sandbox_id, -sum(bytes) from gone group by sandbox_id order by sandbox_id
    on conflict (sandbox_id) do update set stored_bytes = t.stored_bytes + excluded.stored_bytes
  )
  select count(*)::int4 as chunks, coalesce(sum(bytes), 0)::int8 as bytes from gone`

const oldestOfSandbox = ["workload", "execute", "process"]
  .flatMap((source) =>
    ["stdout", "stderr"].map(
      (stream) => `
        (select owner_id, stream, start_offset, at, seq, end_offset - start_offset + ${chunkOverheadBytes} as bytes from output_chunks
         where sandbox_id = $1 and source = '${source}' and stream = '${stream}' order by at, seq limit ${cutChunksMax})`
    )
  )
  .join(" union all ")

const cutStatement = forgetStatement(`
  select owner_id, stream, start_offset from (
    select *, sum(bytes) over (order by at, seq) - bytes as before from (
      select * from (${oldestOfSandbox}) as each order by at, seq limit ${cutChunksMax}
    ) as oldest
  ) as summed where before < $2::int8`)

const trimStatement = `
  with kept as (
    update outputs set retained_offset = greatest(retained_offset, next_offset - $3::int8)
    where owner_id = $1 and stream = $2
    returning retained_offset
  ), gone as (
    delete from output_chunks c using kept
    where c.owner_id = $1 and c.stream = $2 and c.end_offset <= kept.retained_offset
    returning c.sandbox_id, c.end_offset - c.start_offset + ${chunkOverheadBytes} as bytes
  ), counted as (
    update output_totals t set stored_bytes = t.stored_bytes - g.bytes
    from (select sandbox_id, sum(bytes) as bytes from gone group by sandbox_id) g where t.sandbox_id = g.sandbox_id
  )
  select count(*)::int4 as chunks, coalesce(sum(bytes), 0)::int8 as bytes from gone`

/** `sql` stores; `maintenance` vacuums, which may take long. */
export const outputRoom = (sql: SqlClient.SqlClient, maintenance: SqlClient.SqlClient) => {
  const vacuuming = Semaphore.makeUnsafe(1)
  let dead = 0

  const run = (statement: string, parameters: ReadonlyArray<unknown>): Effect.Effect<Forgotten, SqlError.SqlError> =>
    sql.unsafe<{ readonly chunks: number; readonly bytes: bigint }>(statement, parameters).pipe(
      Effect.map((rows) => {
        const forgotten = { chunks: rows[0]!.chunks, bytes: Number(rows[0]!.bytes) }
        dead += forgotten.bytes
        return forgotten
      })
    )

  return {
    /** Deletes all but the last `keepBytes` of a stream; a chunk that straddles the boundary stays. */
    trim: (ownerId: string, stream: string, keepBytes: number) =>
      run(trimStatement, [ownerId, stream, BigInt(keepBytes)]),

    /** Deletes the oldest chunks of a Sandbox that stores more than its share. */
    cut: Effect.fnUntraced(function* (sandboxId: string, storedBytes: number, maxBytes: number) {
      let excess = storedBytes - Math.floor(maxBytes * cutToShare)
      let chunks = 0
      while (excess > 0) {
        const gone = yield* run(cutStatement, [sandboxId, BigInt(excess)])
        if (gone.chunks === 0) break
        chunks += gone.chunks
        excess -= gone.bytes
      }
      return chunks
    }),

    /** Deletes a batch of chunks; `doomed` as in `forgetStatement`. */
    forget: (doomed: string, parameters: ReadonlyArray<unknown>) => run(forgetStatement(doomed), parameters),

    /** Vacuums if enough was deleted since the last time. Under a steady writer the table stays at the kept size plus that much. */
    vacuum: Effect.suspend(() => {
      if (dead < vacuumEveryBytes) return Effect.void
      dead = 0
      // Takes no lock that others hold, and makes none wait: autovacuum, which yields to others, truncates the file.
      return maintenance.unsafe("vacuum (skip_locked, truncate false, parallel 0) output_chunks").pipe(Effect.asVoid)
    }).pipe(vacuuming.withPermitsIfAvailable(1), Effect.asVoid)
  }
}
