/**
 * A pull stream of a Sandbox's log, starting with the newest stored entries: each pull reads, as for the output of an operation.
 *
 * Chunks are numbered at their insertion, and two inserts may be committed in the other order. So a position is a number below which no chunk can
 * appear any more, and newer delivered chunks are remembered for a moment. A client that returns with a position gets that moment again, and
 * recognizes known entries by their ids.
 *
 * The reads of one account take turns. A thousand streams of one account, which is as many as it may have, would otherwise take every connection and
 * the processor for as long as their reads last: requests of other accounts waited for 23 s.
 */
import { Clock, Effect, FiberSet, Option, Queue, Schema, Scope } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { heartbeatSeconds } from "../../../schemas/Limits.ts"
import { type PullStream, pullStream } from "../../operation/pullStream.ts"
import { Actors } from "../../store/Actors.ts"
import { Int8, int8Column } from "../../store/Columns.ts"
import { Output } from "../../store/Output.ts"
import { ChunkRow, chunksThatMatch, entryOf, type LogEntry, type LogFilter, Wanted, wantedOf } from "./LogChunks.ts"
import { newestChunks } from "./newestChunks.ts"

/** How often chunks of other processes are polled. */
const askEveryMs = 1000
/** Chunks stored within this time are delivered together. */
const gatherMs = 50
/** The longest time of an insert from its number to its commit, while the database works at all. */
const overtakenMs = 2000
/** A chunk has the time of its arrival, but may wait this long for its Sandbox's rate before it is stored. */
const lateMs = 60_000
const pieceMaxRows = 500
const elapsedMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))
/** Bytes of the newest stored entries, with which a stream starts. */
const startMaxBytes = 1024 * 1024
/** Bytes of one event: a client that does not read leaves one event in memory, and an account may have a thousand streams. */
const pieceMaxBytes = 128 * 1024

/** Epoch milliseconds of the newest delivered entry, and a number up to which all were delivered. */
export interface LogPosition {
  readonly at: number
  readonly seq: number
}

export interface LogFollowing extends LogFilter {
  /** Epoch milliseconds, inclusive. */
  readonly since: number | null
  /** How many of the newest stored entries are delivered first. */
  readonly limit: number
  /** Replaces `limit`. */
  readonly after: LogPosition | null
}

export type LogEvent =
  | {
      readonly type: "log"
      readonly entries: ReadonlyArray<LogEntry>
      /** There were older matches that are not delivered. */
      readonly truncated: boolean
      /** The position after these entries. */
      readonly position: LogPosition
    }
  /** Nothing matching was stored for a heartbeat's time. */
  | { readonly type: "quiet"; readonly position: LogPosition }

export type LogReading = PullStream<LogEvent>

const Beyond = Schema.Struct({ ...Wanted.fields, floor: Int8, told: Schema.Array(Schema.Number) })

type InTurn = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The first of these rows, as many as one event has. */
const firstPiece = (rows: ReadonlyArray<ChunkRow>): ReadonlyArray<ChunkRow> => {
  let bytes = 0
  const end = rows.findIndex((row) => {
    bytes += row.bytes.length
    return bytes > pieceMaxBytes
  })
  return end === -1 ? rows : rows.slice(0, Math.max(1, end))
}

/**
 * Where the rows after the first event are read from: below all of them, and below what may still be committed.
 * @param settled Numbers up to this one have been committed.
 */
const positionBefore = (rest: ReadonlyArray<ChunkRow>, at: number, settled: number): LogPosition => ({
  at,
  seq: Math.min(settled, ...rest.map(({ seq }) => seq - 1))
})

const highestOf = (rows: ReadonlyArray<{ readonly seq: number }>, least: number): number =>
  rows.reduce((highest, { seq }) => Math.max(highest, seq), least)

/** Has an element once something was stored since it was last taken. Listens from the first call until the scope ends. */
const changesOf = (output: Output["Service"], sandboxId: string, scope: Scope.Scope) => {
  let heard: Queue.Queue<void> | null = null
  return Effect.gen(function* () {
    if (heard !== null) return heard
    const queue = yield* Queue.sliding<void>(1)
    heard = queue
    yield* Effect.acquireRelease(
      Effect.sync(() => output.onAppend(sandboxId, () => void Queue.offerUnsafe(queue, undefined))),
      (unheard) => Effect.sync(unheard)
    )
    return queue
  }).pipe(Scope.provide(scope))
}

/** Makes the stream for a Sandbox of which the caller has checked the owner. `inTurn`: runs each of its reads. */
export const logReadings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const actors = yield* Actors
  const output = yield* Output
  const newest = yield* newestChunks
  const run = yield* FiberSet.makeRuntime()

  const findBeyond = SqlSchema.findAll({
    Request: Beyond,
    Result: ChunkRow,
    execute: ({ floor, told, ...wanted }) => {
      const order = sql`order by seq limit ${wanted.limit}`
      const isNew = sql`seq > ${floor} and seq <> all(${int8Column(told.map(BigInt))}::int8[])`
      return sql`
        with found as (
          select * from (${chunksThatMatch(sql, wanted, { where: isNew, order })}) as found ${order}
        ), sized as (
          select *, sum(size) over (order by seq) as total, row_number() over (order by seq) as place from found
        )
        select s.at, s.seq, s.stream, s.source, s.owner_id, s.start_offset, c.bytes
        from sized s join output_chunks c using (owner_id, stream, start_offset)
        where s.total <= ${pieceMaxBytes} or s.place = 1
        order by s.seq`
    }
  })

  return (sandboxId: string, { after, since, limit, ...filter }: LogFollowing, inTurn: InTurn): LogReading => {
    const scope = Scope.makeUnsafe()
    let position = after ?? { at: 0, seq: 0 }
    let told: ReadonlyArray<{ readonly seq: number; readonly at: number }> = []
    let isBegun = after !== null
    /** The time of the last delivery or heartbeat, by the monotonic clock, because the time of day may be set meanwhile. */
    let toldAt: number | null = null

    /** @param now Chunks delivered a while ago are below the position, and none can appear between them. */
    const remember = (rows: ReadonlyArray<ChunkRow>, now: number) => {
      const all = [...told, ...rows.map(({ seq }) => ({ seq, at: now }))]
      const settled = all.filter(({ at }) => at <= now - overtakenMs)
      position = {
        at: rows.reduce((latest, { at }) => Math.max(latest, at), position.at),
        seq: highestOf(settled, position.seq)
      }
      told = all.filter(({ seq }) => seq > position.seq)
    }

    const begin = Effect.gen(function* () {
      const { rows, truncated } = yield* newest(sandboxId, { ...filter, since, until: null, limit }, startMaxBytes)
      const now = yield* Clock.currentTimeMillis
      const isOld = ({ at }: ChunkRow) => at <= now - overtakenMs
      // Chunks older than the first delivered one are skipped; chunks that are being committed beside the last one are delivered.
      if (truncated) position = { ...position, seq: Math.min(...rows.map(({ seq }) => seq)) - 1 }
      const first = firstPiece(rows)
      const rest = rows.slice(first.length)
      if (rest.length > 0) {
        position = positionBefore(rest, first.at(-1)!.at, highestOf(rows.filter(isOld), position.seq))
        // They settle nothing: what lies between them is not delivered yet.
        told = first.filter(({ seq }) => seq > position.seq).map(({ seq }) => ({ seq, at: Number.POSITIVE_INFINITY }))
        return { rows: first, truncated }
      }
      remember(rows.filter(isOld), now - overtakenMs)
      remember(
        rows.filter((row) => !isOld(row)),
        now
      )
      position = { ...position, at: Math.max(position.at, now) }
      return { rows, truncated }
    }).pipe(inTurn)

    const read = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      remember([], now)
      const rows = yield* findBeyond({
        ...wantedOf(filter),
        sandboxId,
        // The clock may have been set back since.
        from: Math.max(since ?? 0, Math.min(position.at, now) - lateMs),
        limit: pieceMaxRows,
        floor: position.seq,
        told: told.map(({ seq }) => seq)
      }).pipe(Effect.orDie)
      remember(rows, now)
      // All matches are delivered: later chunks are new, and older ones need not be read again.
      if (rows.length === 0) position = { ...position, at: Math.max(position.at, now) }
      return rows
    }).pipe(inTurn)

    const changes = changesOf(output, sandboxId, scope)
    const next: Effect.Effect<LogEvent | null> = Effect.gen(function* () {
      const changed = yield* changes
      if (!isBegun) {
        isBegun = true
        const { rows, truncated } = yield* begin
        return { type: "log", entries: rows.map(entryOf), truncated, position }
      }
      // A closed stream reads no more: it would take the turns of those that are open.
      while (scope.state._tag !== "Closed") {
        const rows = yield* read
        if (rows.length > 0) {
          toldAt = yield* elapsedMs
          return { type: "log", entries: rows.map(entryOf), truncated: false, position }
        }
        const now = yield* elapsedMs
        toldAt ??= now
        // The heartbeat is due independently of wake-ups for chunks that do not match.
        const leftMs = toldAt + heartbeatSeconds * 1000 - now
        if (leftMs <= 0) {
          toldAt = now
          if ((yield* actors.read(sandboxId)) === null) return null
          return { type: "quiet", position }
        }
        const woken = yield* Effect.timeoutOption(Queue.take(changed), Math.min(askEveryMs, leftMs))
        if (Option.isSome(woken)) yield* Effect.sleep(gatherMs)
      }
      return null
    })
    return pullStream(next, run, scope)
  }
})
