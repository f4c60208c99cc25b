/** The statements of the output store. Each writes or reads many streams over `unnest`. */
import { chunkOverheadBytes } from "./OutputRoom.ts"

/** Maximum size of a chunk. */
export const chunkBytesMax = 64 * 1024

/**
 * Appends chunks. Returns the streams that moved, each with all of its chunks or none, and the stored bytes of their Sandboxes.
 *
 * A stream's end moves only from where its writer expects it, and a new stream begins at 0. A statement of a killed process may
 * still arrive while the next process follows the same command, and a crashed database has lost unflushed bytes: a writer with a wrong
 * expectation stores nothing and gets an error. Where the row exists, `retained_offset` carries the writer's expectation. Where it does not,
 * it is the first byte, which lies behind a gap only if the producer reported one.
 *
 * Chunks are numbered in the order of arrival, regardless of the join's order: logs are read by that number.
 *
 * The bytes of all chunks arrive as one value and are cut here. As an array they would be copied once more on each side, a third of the
 * whole time.
 */
export const appendStatement = `
  with input as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int4[])
      with ordinality as i (owner_id, stream, sandbox_id, source, start_offset, end_offset, follows, at, first, place)
  ), streams as (
    select owner_id, stream, min(sandbox_id) as sandbox_id, min(source) as source, max(end_offset) as end_offset,
      min(start_offset) as start_offset, min(follows) as follows
    from input group by owner_id, stream
  ), advanced as (
    insert into outputs (owner_id, stream, sandbox_id, source, next_offset, retained_offset)
    select s.owner_id, s.stream, s.sandbox_id, s.source, s.end_offset, case when o.owner_id is null then s.start_offset else s.follows end
    from streams s left join outputs o on o.owner_id = s.owner_id and o.stream = s.stream
    where o.owner_id is not null or s.follows = 0
    order by s.owner_id, s.stream
    on conflict (owner_id, stream) do update set next_offset = excluded.next_offset
      where outputs.next_offset = excluded.retained_offset
    returning owner_id, stream
  ), stored as (
    insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, bytes)
    select i.owner_id, i.stream, i.start_offset, i.end_offset, i.sandbox_id, i.source, i.at,
      substring($10::bytea from i.first for (i.end_offset - i.start_offset)::int4)
    from (
      select i.* from input i join advanced a on a.owner_id = i.owner_id and a.stream = i.stream
      where i.end_offset > i.start_offset order by i.place
    ) as i
    returning sandbox_id, end_offset - start_offset + ${chunkOverheadBytes} as bytes
  ), counted as (
    insert into output_totals as t (sandbox_id, stored_bytes)
    select sandbox_id, sum(bytes) from stored group by sandbox_id order by sandbox_id
    on conflict (sandbox_id) do update set stored_bytes = t.stored_bytes + excluded.stored_bytes
    returning sandbox_id, stored_bytes
  )
  select owner_id, stream, null as sandbox_id, null::int8 as stored_bytes from advanced
  union all select null, null, sandbox_id, stored_bytes from counted`

/** The ends of the streams of some owners. */
export const endsStatement = "select owner_id, stream, next_offset from outputs where owner_id = any($1::text[])"

/**
 * The same, but returns only once all of it is on disk. A statement sees only what was committed before it began, and a transaction that
 * writes and waits for the disk flushes all earlier writes as well. In two statements, the second could read bytes newer than
 * the flush.
 */
export const flushStatement = `
  select o.owner_id, o.stream, o.next_offset
  from (select pg_logical_emit_message(true, 'atoll', ''::text) as at) as mark
  left join outputs o on mark.at is not null and o.owner_id = any($1::text[])`

const pageChunksMax = 4096

/** The stored chunks of a stream that hold bytes from $3 up to $4. */
export const pageStatement = `
  select start_offset, bytes from output_chunks
  where owner_id = $1 and stream = $2 and start_offset < $4::int8 and end_offset > $3::int8 and start_offset > $3::int8 - ${chunkBytesMax}
  order by start_offset limit ${pageChunksMax}`

/** The first stored chunk that begins after an offset. */
export const nextChunkStatement = `
  select start_offset from output_chunks where owner_id = $1 and stream = $2 and start_offset > $3::int8
  order by start_offset limit 1`
