/**
 * Reports of usage, costs and credit, over HTTP, for an account with 1,000 running Sandboxes and 30 days of 1,000
 * Sandboxes before, 100,000 entries in its ledger, 100,000 operations, 200,000 executes, and samples of every 15 s.
 * Rows are put into the tables as postings, samplers and the journal write them; samples only for the hours at the ends
 * of the windows, because no others are read.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { databaseOf } from "./BenchDatabase.ts"
import { BenchService, quantile, timed } from "./BenchService.ts"

const sandboxes = 1000
const days = 30
const entries = 100_000
const operations = 100_000
const executes = 200_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const rounds = 60

const gib = 1024 ** 3
/** 1 vCPU, 512 MiB of memory and a volume of 4 GiB under the default rates, by the millisecond. */
const rates = { vcpu: 14_000 * 1000, memory: 4500 * 0.5 * gib, volume: 30 * 4 * gib }

/** All of it ends at `midnight`; the Sandboxes run on from there. */
const fill = (accountId: string, midnight: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const begin = BigInt(midnight - days * dayMs)
    yield* sql`
      insert into workspaces (id, account_id, name, created_at) select 'wsp_' || n, ${accountId}, 'workspace ' || n, n from generate_series(1, 10) n`
    yield* sql`
      insert into segments (sandbox_id, number, account_id, workspace_id, from_at, to_at, sign, is_running, has_volume, vcpu_sum, memory_sum, volume_sum,
        vcpu_rate, memory_rate, volume_rate, vcpu_micro_usd, memory_micro_usd, volume_micro_usd, milli_vcpus, memory_bytes, volume_bytes)
      select 'sbx_' || lpad(s::text, 26, '0'), d, ${accountId}, 'wsp_' || (s % 10 + 1), ${begin}::int8 + d * ${BigInt(dayMs)}::int8, ${begin}::int8 + (d + 1) * ${BigInt(dayMs)}::int8,
        1, true, true, d * ${dayMs}::numeric * r.vcpu, d * ${dayMs}::numeric * r.memory, d * ${dayMs}::numeric * r.volume, r.vcpu, r.memory, r.volume,
        div((d + 1) * ${dayMs}::numeric * r.vcpu, 1e9) - div(d * ${dayMs}::numeric * r.vcpu, 1e9),
        div((d + 1) * ${dayMs}::numeric * r.memory, 1e6 * ${gib}) - div(d * ${dayMs}::numeric * r.memory, 1e6 * ${gib}),
        div((d + 1) * ${dayMs}::numeric * r.volume, 1e6 * ${gib}) - div(d * ${dayMs}::numeric * r.volume, 1e6 * ${gib}),
        1000, ${BigInt(gib / 2)}, ${BigInt(4 * gib)}
      from generate_series(0, ${days - 1}::int4) d, generate_series(1, ${sandboxes}::int4) s,
        (select ${rates.vcpu}::numeric as vcpu, ${rates.memory}::numeric as memory, ${rates.volume}::numeric as volume) r`
    yield* sql`
      insert into meters (sandbox_id, account_id, workspace_id, name, milli_vcpus, memory_bytes, volume_bytes, revision, at, changed_at, run_since,
        is_running, has_volume, segments, vcpu_sum, memory_sum, volume_sum)
      select 'sbx_' || lpad(s::text, 26, '0'), ${accountId}, 'wsp_' || (s % 10 + 1), 'sandbox ' || s, 1000, ${BigInt(gib / 2)}, ${BigInt(4 * gib)}, 2, ${BigInt(midnight)},
        ${begin}, ${begin}, true, true, ${days}, ${days * dayMs}::numeric * ${rates.vcpu}::numeric,
        ${days * dayMs}::numeric * ${rates.memory}::numeric, ${days * dayMs}::numeric * ${rates.volume}::numeric
      from generate_series(1, ${sandboxes}::int4) s`
    yield* sql`
      insert into grants (id, account_id, kind, granted_micro_usd, remaining_micro_usd, effective_at, is_posted, description, created_at)
      select 'grt_' || n, ${accountId}, 'purchase', 1e12::int8, case when n = 5 then 1e12::int8 else 0 end, ${begin}, true, 'paid', ${begin}
      from generate_series(1, 5) n`
    yield* sql`
      insert into ledger_entries (id, account_id, number, at, posted_at, kind, micro_usd, balance_micro_usd, sandbox_id, segment, period_from, period_to,
        description)
      select 'txn_' || n, ${accountId}, n, ${begin}, ${begin}, 'usage', -1000, 1e12::int8, 'sbx_' || lpad((n % 1000 + 1)::text, 26, '0'), n / 1000, ${begin}, ${begin}, 'sandbox'
      from generate_series(1, ${entries}::int4) n`
    yield* sql`
      insert into allocations (entry_id, number, account_id, grant_id, micro_usd, spent_by, at)
      select 'txn_' || n, 0, ${accountId}, 'grt_' || n % 4 + 1, 1000, 'txn_' || n, ${begin} from generate_series(1, ${entries}::int4) n`
    yield* sql`
      insert into wallets (account_id, balance_micro_usd, debt_micro_usd, entries, posted_at)
      values (${accountId}, 1e12::int8, 0, ${BigInt(entries)}, ${BigInt(midnight)})
      on conflict (account_id) do update set balance_micro_usd = excluded.balance_micro_usd, entries = excluded.entries`
    yield* sql`update accounts set billing = 'prepaid', exhausted_at = ${BigInt(midnight + 400 * dayMs)} where id = ${accountId}`
    yield* sql`
      insert into usage_hours (account_id, hour, cpu_us, cpu_samples)
      select ${accountId}, ${begin}::int8 + h * ${BigInt(hourMs)}::int8, 1e9, 240000 from generate_series(0, ${days * 24 - 1}::int4) h`
    for (const hour of [midnight - days * dayMs + 12 * hourMs, midnight - 12 * hourMs]) {
      yield* sql`
        insert into telemetry_samples (sandbox_id, account_id, generation, at, cpu_seconds, memory_bytes, cpu_growth_us)
        select 'sbx_' || lpad(s::text, 26, '0'), ${accountId}, 1, ${BigInt(hour)}::int8 + n * 15000, n, 1, 1000 from generate_series(0, 239) n, generate_series(1, ${sandboxes}::int4) s`
    }
    yield* sql`
      insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at, ended_at)
      select 'op_' || n, 'operation', ${accountId}, 'sbx_' || lpad((n % ${sandboxes}::int4 + 1)::text, 26, '0'), 1, 4, '{}'::jsonb,
        jsonb_build_object('value', 'completed', 'context', jsonb_build_object('finishedAt', 0, 'argv', repeat('x', 500))),
        ${begin}::int8 + n::int8 * ${BigInt(Math.floor((days * dayMs) / operations))}::int8, ${BigInt(midnight)}
      from generate_series(1, ${operations}::int4) n`
    yield* sql`
      insert into executions (id, account_id, sandbox_id, generation, started_at, finished_at, timed_out)
      select 'exe_' || n, ${accountId}, 'sbx_' || lpad((n % ${sandboxes}::int4 + 1)::text, 26, '0'), 1,
        ${begin}::int8 + n::int8 * ${BigInt(Math.floor((days * dayMs) / executes))}::int8, ${BigInt(midnight)}, false
      from generate_series(1, ${executes}::int4) n`
    yield* sql`vacuum (analyze) segments, meters, ledger_entries, allocations, usage_hours, telemetry_samples, actors, executions`
  })

await BenchService.use(
  {
    ATOLL_RUNTIME: process.env["ATOLL_RUNTIME"] ?? "simulated",
    ATOLL_RETENTION_DAYS: "400",
    ATOLL_ENDED_RETENTION_DAYS: "400"
  },
  async (service) => {
    const { account } = await service.call<{ account: { id: string } }>("GET", "/me")
    const midnight = Math.floor(Date.now() / dayMs) * dayMs
    await Effect.runPromise(fill(account.id, midnight).pipe(Effect.provide(databaseOf(service.databaseSocketFolder))))

    const ask = async (what: string, path: string, wanted: string) => {
      const call = () => service.call("GET", path)
      await timed(5, call)
      const took = await timed(rounds, call)
      return {
        what,
        "p50 ms": Number(quantile(took, 0.5).toFixed(1)),
        "p99 ms": Number(quantile(took, 0.99).toFixed(1)),
        wanted
      }
    }
    const at = (ms: number) => new Date(ms).toISOString()
    const month = `from=${at(midnight - days * dayMs)}&to=${at(midnight)}`
    const cut = `from=${at(midnight - days * dayMs + 12.5 * hourMs)}&to=${at(midnight - 11.5 * hourMs)}`
    const open = `from=${at(midnight - days * dayMs)}&to=${at(midnight + dayMs)}`
    console.table([
      await ask("who am I, to compare with", "/me", ""),
      await ask("balance", "/usage/balance", "5 ms"),
      await ask("transactions, the newest 100", "/usage/transactions", ""),
      await ask("costs of 30 days by Sandbox", `/usage/costs?${month}`, "100 ms"),
      await ask("the same by day", `/usage/costs?${month}&groupBy=day`, "100 ms"),
      await ask("the same by workspace", `/usage/costs?${month}&groupBy=workspace`, "100 ms"),
      await ask("by Sandbox, up to now", `/usage/costs?${open}`, "100 ms"),
      await ask("by Sandbox, cut within days", `/usage/costs?${cut}`, "100 ms"),
      await ask("usage of 30 days", `/usage?${month}`, "100 ms"),
      await ask("usage up to now", `/usage?${open}`, "100 ms"),
      await ask("usage, cut within hours", `/usage?${cut}`, "100 ms"),
      await ask("costs of this month by Sandbox", "/usage/costs", "100 ms"),
      await ask("usage of this month", "/usage", "100 ms")
    ])
  }
)
