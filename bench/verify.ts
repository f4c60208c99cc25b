/**
 * `usage verify` of a log of 1,000,000 transitions: 10,000 Sandboxes of 20 accounts, each of which was started and
 * stopped 25 times, a day apart.
 * Seconds, and the growth of the process meanwhile.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer } from "effect"
import { MaintenanceDatabase } from "../src/store/Database.ts"
import { Ledger } from "../src/wallet/Ledger.ts"
import { verifyUsage } from "../src/wallet/verify/verifyUsage.ts"
import { benchDatabase } from "./BenchDatabase.ts"

const accounts = 20
const sandboxes = Number(process.env["BENCH_SANDBOXES"] ?? 10_000)
const runs = 25
const dayMs = 24 * 60 * 60 * 1000
const start = Date.now() - (runs + 1) * dayMs
const mib = 1024 ** 2

const program = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase
  const ledger = yield* Ledger

  yield* sql`insert into accounts (id, name, created_at, billing) select 'acc_' || n, 'n' || n, 0, 'prepaid' from generate_series(0, ${accounts - 1}::int) n`
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, sandbox_status, created_at)
    select 'sbx_' || n, 'sandbox', 'acc_' || n % ${accounts}::int, 'sbx_' || n, 1, ${BigInt(runs * 4)}::int8,
      '{"name": null, "profile": {"vcpus": 2, "memoryBytes": 2147483648, "diskBytes": 10737418240}}'::jsonb,
      '{"value": "stopped", "context": {"workspaceId": "wsp_1"}}'::jsonb, 'stopped', 0
    from generate_series(1, ${sandboxes}::int) n`
  // Each state lasts for a time that differs between Sandboxes.
  yield* sql`
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
    select 'sbx_' || n, r * 4 + s, ${BigInt(start)}::int8 + r * ${BigInt(dayMs)}::int8 + s * (n * 977 % 3600000), '{"type": "X"}'::jsonb,
      case when r = 0 and s = 1 then null else (array['stopped', 'pending', 'running', 'stopping'])[s] end,
      (array['pending', 'running', 'stopping', 'stopped'])[s], '[]'::jsonb, 'bench', ''
    from generate_series(1, ${sandboxes}::int) n, generate_series(0, ${runs - 1}::int) r, generate_series(1, 4) s`
  for (let n = 0; n < accounts; n++) {
    yield* ledger.grant({
      accountId: `acc_${n}`,
      kind: "purchase",
      microUsd: 10n ** 12n,
      expiresAt: null,
      description: "credit"
    })
  }
  yield* sql`analyze`
  yield* verifyUsage(sql, "acc_0")
  const before = process.memoryUsage().rss
  let most = before
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 50)
  const began = performance.now()
  const found = yield* verifyUsage(sql, null)
  const seconds = (performance.now() - began) / 1000
  clearInterval(watching)
  console.log(
    `${found.transitions} transitions, ${found.sandboxes} Sandboxes, ${found.entries} entries: ${seconds.toFixed(1)} s, ${Math.round(before / mib)} MiB of memory and ${Math.round((most - before) / mib)} MiB more while it ran`
  )
  for (const difference of found.differences) console.log(difference)
  if (found.differencesCount > 0) process.exitCode = 1
})

program.pipe(Effect.provide(Ledger.layer.pipe(Layer.provideMerge(benchDatabase))), NodeRuntime.runMain)
