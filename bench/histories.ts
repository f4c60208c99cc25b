/**
 * `histories verify` over a log of 1,000,000 transitions: 100,000 Sandboxes that each booted, slept, woke, stopped, started and were deleted.
 * Transitions a second, beside a loop that only reads the rows, and the growth of the process meanwhile.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type SandboxInput, sandboxMachine } from "../machines/sandbox.ts"
import { begin, decide, stamp, store } from "../src/engine/Transition.ts"
import { verifyHistories } from "../src/ops/histories/verifyHistories.ts"
import { MaintenanceDatabase } from "../src/store/Database.ts"
import { eachBatch } from "../src/store/eachBatch.ts"
import type { PendingCommand } from "../src/store/JournalRecord.ts"
import { benchDatabase } from "./BenchDatabase.ts"

const sandboxes = Number(process.env["BENCH_SANDBOXES"] ?? 100_000)
const mib = 1024 ** 2

const input: SandboxInput = {
  sandboxId: "sbx_1",
  accountId: "acc_bench",
  workspaceId: "wsp_1",
  volumeId: "vol_1",
  hostId: null,
  name: "bench",
  runtime: "namespace",
  profile: { vcpus: 2, memoryBytes: 2 * 1024 ** 3, diskBytes: 10 * 1024 ** 3 },
  networkEnabled: false,
  metadata: {},
  env: null,
  lifetime: { stopAfterSeconds: 3600, stopAfterIdleSeconds: null, deleteAfterStoppedSeconds: null },
  bootTimeoutMs: 60_000,
  at: 1
} as never

const events = [
  { type: "RUNTIME_UP", generation: 1 },
  { type: "SLEEP" },
  { type: "START" },
  { type: "RUNTIME_UP", generation: 1 },
  { type: "STOP" },
  { type: "RUNTIME_STOPPED", generation: 1 },
  { type: "START" },
  { type: "DELETE" },
  { type: "VOLUME_GONE" }
]

/** One life as the log has it. */
const life = () => {
  const first = begin(sandboxMachine, input)
  let { snapshot, deadlines } = first
  let commands: ReadonlyArray<PendingCommand> = first.commands
  const entries: Array<object> = [
    { revision: 1, event: { type: "CREATE", at: 1 }, from: null, to: snapshot.value, commands }
  ]
  for (const [index, event] of events.entries()) {
    const revision = index + 2
    const from = snapshot.value
    const stamped = stamp(event, revision)
    const verdict = decide(sandboxMachine, snapshot, stamped, revision, deadlines)
    if (verdict.type !== "accepted") throw new Error(`${event.type} is ${verdict.type} in ${from}`)
    ;({ snapshot, commands, deadlines } = verdict)
    entries.push({ revision, event: stamped, from, to: snapshot.value, commands })
  }
  return { entries, snapshot: store(snapshot) }
}

/** What the verification reads, without the folds. */
const readAll = (sql: SqlClient.SqlClient) =>
  eachBatch(
    sql,
    "bench_entries",
    1000,
    "select actor_id, revision, event, from_state, to_state, commands from transitions order by actor_id, revision",
    [],
    () => Effect.void
  ).pipe(sql.withTransaction)

const timed = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const begun = performance.now()
  const used = process.cpuUsage()
  const value = yield* work
  const { user, system } = process.cpuUsage(used)
  return { value, seconds: (performance.now() - begun) / 1000, processorSeconds: (user + system) / 1e6 }
})

const program = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase
  const { entries, snapshot } = life()
  yield* sql`insert into accounts (id, name, created_at) values ('acc_bench', 'bench', 0)`
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, sandbox_status, created_at)
    select 'sbx_' || n, 'sandbox', 'acc_bench', 'sbx_' || n, ${Number(sandboxMachine.version)}::int4, ${entries.length}::int4,
      ${JSON.stringify(input)}::jsonb, ${JSON.stringify(snapshot)}::jsonb, ${snapshot.value}::text, 0
    from generate_series(1, ${sandboxes}::int) n`
  yield* sql`
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
    select 'sbx_' || n, (e ->> 'revision')::int8, 1, e -> 'event', e ->> 'from', e ->> 'to', e -> 'commands', 'bench', ''
    from generate_series(1, ${sandboxes}::int) n, jsonb_array_elements(${JSON.stringify(entries)}::jsonb) e`
  yield* sql`analyze`
  const bare = yield* timed(readAll(sql))
  const before = process.memoryUsage().rss
  let most = before
  const { value: found, ...verified } = yield* timed(
    verifyHistories(sql, () =>
      Effect.sync(() => {
        most = Math.max(most, process.memoryUsage().rss)
      })
    )
  )
  const rate = (seconds: number) => `${seconds.toFixed(1)} s, ${Math.round(found.transitions / seconds)} a second`
  console.log(
    `${found.transitions} transitions of ${found.actors} actors: ${rate(verified.seconds)} (${rate(verified.processorSeconds)} of this process's processor time); ${Math.round(before / mib)} MiB of memory and ${Math.round((most - before) / mib)} MiB more while it ran`
  )
  console.log(
    `A loop that only reads the same rows: ${rate(bare.seconds)} (${rate(bare.processorSeconds)}); the fold takes ${(verified.seconds / bare.seconds).toFixed(2)} times as long`
  )
  for (const { actorId, difference } of found.differences.slice(0, 3)) console.log(actorId, difference)
  if (found.differencesCount > 0) process.exitCode = 1
})

program.pipe(Effect.provide(benchDatabase), NodeRuntime.runMain)
