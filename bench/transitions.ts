/**
 * Durable transitions a second: 64 and 512 callers over 1,000 Operation actors, beside the raw floor (the same rows written by bare SQL in
 * batches through `unnest`, two connections) and beside one bare committed UPDATE for the latency of one caller.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer } from "effect"
import { type AnyStateMachine, assign, setup } from "xstate"
import { operationMachine } from "../machines/operation.ts"
import { ActorCluster } from "../src/engine/ActorCluster.ts"
import { ActorHost } from "../src/engine/ActorHost.ts"
import { int8Column, jsonColumn, textColumn } from "../src/store/Columns.ts"
import { JournalDatabase } from "../src/store/Database.ts"
import { Journal } from "../src/store/Journal.ts"
import { benchDatabase } from "./BenchDatabase.ts"
import { type ColumnHeadline, headlines } from "./Headline.ts"

const actors = 1000
const callers = 64
const manyCallers = 512
const seconds = Number(process.env.BENCH_SECONDS ?? 4)

const quantile = (sorted: ReadonlyArray<number>, q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!

type Column =
  | "actors transitions/s"
  | "floor rows/s"
  | "512 callers, transitions/s"
  | "floor of 512, rows/s"
  | "one row by bare SQL p50 ms"
  | "one caller p50 ms"
  | "bare UPDATE p50 ms"

const figures: ReadonlyArray<ColumnHeadline<Column>> = [
  {
    name: "durable transitions, 64 callers",
    unit: "/s",
    better: "higher",
    column: "actors transitions/s",
    other: { name: "the same rows by bare SQL", column: "floor rows/s" },
    aim: { ratio: 0.75 }
  },
  {
    name: "durable transitions, 512 callers",
    unit: "/s",
    better: "higher",
    column: "512 callers, transitions/s",
    other: { name: "the same rows by bare SQL", column: "floor of 512, rows/s" },
    aim: { value: 35_000 }
  },
  {
    name: "one durable transition, one caller",
    unit: "ms",
    better: "lower",
    column: "one caller p50 ms",
    other: { name: "a bare UPDATE", column: "bare UPDATE p50 ms" },
    aim: { ratio: 1.6 }
  },
  {
    name: "the same row by bare SQL, one caller",
    unit: "ms",
    better: "lower",
    column: "one row by bare SQL p50 ms",
    other: { name: "a bare UPDATE", column: "bare UPDATE p50 ms" }
  }
]

/** Runs `call` from `concurrency` callers for the bench's time; returns calls a second and the latency of each. */
const load = Effect.fnUntraced(function* (concurrency: number, call: (index: number) => Effect.Effect<unknown>) {
  const latencies: Array<number> = []
  const start = performance.now()
  const end = start + seconds * 1000
  let next = 0
  yield* Effect.forEach(
    Array.from({ length: concurrency }),
    () =>
      Effect.gen(function* () {
        while (performance.now() < end) {
          const before = performance.now()
          yield* call(next++)
          latencies.push(performance.now() - before)
        }
      }),
    { concurrency: "unbounded" }
  )
  const elapsed = (performance.now() - start) / 1000
  latencies.sort((a, b) => a - b)
  return { perSecond: latencies.length / elapsed, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
})

/** An Operation that accepts the same event endlessly: `running` takes STARTED again as a real transition. */
const endless = setup({
  types: { context: {} as { startedAt: number | null }, events: {} as { type: "STARTED"; at: number } },
  actions: { noteStarted: assign({ startedAt: ({ event }) => event.at }) }
}).createMachine({
  ...operationMachine.config,
  initial: "queued",
  states: {
    ...operationMachine.config.states,
    queued: { on: { STARTED: { target: "running", actions: "noteStarted" } } },
    running: { on: { STARTED: { target: "queued", actions: "noteStarted" } } }
  }
} as never)

const idOf = (index: number) => `op_${String(index).padStart(32, "0")}`

const program = Effect.gen(function* () {
  const host = yield* ActorHost
  const sql = yield* JournalDatabase
  yield* host.register({
    kind: "operation",
    version: 1,
    machine: endless as unknown as AnyStateMachine,
    commands: {
      startProcess: { lane: null, run: () => Effect.succeed(null) },
      followProcess: { lane: null, run: () => Effect.succeed(null) }
    }
  })
  yield* Effect.forEach(
    Array.from({ length: actors }, (_, index) => index),
    (index) =>
      host.create(operationMachine, {
        id: idOf(index),
        accountId: "acc_bench",
        sandboxId: "sbx_bench",
        input: {
          operationId: idOf(index),
          accountId: "acc_bench",
          sandboxId: "sbx_bench",
          generation: 1,
          timeoutMs: null,
          at: 1
        },
        payload: null,
        cause: "client",
        requestId: null,
        idempotency: null
      }),
    { concurrency: 64, discard: true }
  )
  yield* sql`create table floor_actors as select * from actors`
  yield* sql`alter table floor_actors add primary key (id)`
  yield* sql`create table floor_transitions (like transitions including all)`
  yield* sql`create table single (id int primary key, value int)`
  yield* sql`insert into single values (1, 0)`
  yield* sql`analyze`

  const send = (index: number) =>
    host.send(operationMachine, idOf(index % actors), { type: "STARTED" }, { cause: "client" }).pipe(Effect.orDie)
  const snapshot = {
    value: "running",
    context: {
      operationId: idOf(0),
      accountId: "acc_bench",
      sandboxId: "sbx_bench",
      generation: 1,
      timeoutMs: null,
      createdAt: 1,
      startedAt: 1,
      finishedAt: null,
      exitCode: null,
      signal: null,
      reason: null,
      processTree: "running"
    }
  }

  let revision = 1
  // The floor has no mailboxes: each of two connections writes the rows of half of the callers a statement, as fast as
  // it can.
  const floorBatch = (half: number, size: number) =>
    Effect.suspend(() => {
      revision++
      const rows = Array.from({ length: size }, (_, index) => idOf(half * 500 + ((revision * 37 + index) % 500)))
      return sql.unsafe(
        `with input as (select * from unnest($1::text[], $2::int8[], $3::text[], $4::text[]) as i (id, revision, snapshot, event)),
              updated as (update floor_actors a set revision = a.revision + 1, snapshot = i.snapshot::jsonb from input i where a.id = i.id returning a.id),
              logged as (insert into floor_transitions select i.id, i.revision, 1, i.event::jsonb, 'queued', 'running', '[]', 'client', null, 'x' from input i on conflict do nothing)
         select id from updated`,
        [
          textColumn(rows),
          int8Column(rows.map(() => BigInt(revision))),
          jsonColumn(rows.map(() => snapshot)),
          jsonColumn(rows.map(() => ({ type: "STARTED", at: 1 })))
        ]
      )
    }).pipe(Effect.orDie)

  const rounds = []
  for (let round = 0; round < 3; round++) {
    const floor = yield* load(2, (index) => floorBatch(index % 2, callers / 2))
    const floor512 = yield* load(2, (index) => floorBatch(index % 2, manyCallers / 2))
    const host64 = yield* load(callers, send)
    const host512 = yield* load(manyCallers, send)
    const bare1 = yield* load(1, () => sql`update single set value = value + 1 where id = 1`.pipe(Effect.orDie))
    const row1 = yield* load(1, () => floorBatch(0, 1))
    const host1 = yield* load(1, send)
    rounds.push({
      "floor rows/s": Math.round(floor.perSecond * (callers / 2)),
      "actors transitions/s": Math.round(host64.perSecond),
      ratio: Number((host64.perSecond / (floor.perSecond * (callers / 2))).toFixed(2)),
      "actors p50 ms": Number(host64.p50.toFixed(2)),
      "actors p99 ms": Number(host64.p99.toFixed(2)),
      "512 callers, transitions/s": Math.round(host512.perSecond),
      "floor of 512, rows/s": Math.round(floor512.perSecond * (manyCallers / 2)),
      "one row by bare SQL p50 ms": Number(row1.p50.toFixed(3)),
      "bare UPDATE p50 ms": Number(bare1.p50.toFixed(3)),
      "one caller p50 ms": Number(host1.p50.toFixed(3)),
      "p50 ratio": Number((host1.p50 / bare1.p50).toFixed(2))
    })
  }
  console.table(rounds)
  headlines(rounds, figures)
})

program.pipe(
  Effect.provide(
    ActorHost.layer().pipe(
      Layer.provideMerge(Journal.layer),
      Layer.provideMerge(ActorCluster.layerSingle),
      Layer.provideMerge(benchDatabase)
    )
  ),
  NodeRuntime.runMain
)
