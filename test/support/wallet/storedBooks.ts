/** Everything that is stored of an account's money, and the logs that it was folded from, as the witness reads them. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SandboxInput } from "../../../machines/sandbox.ts"
import type { Allocation, Entry } from "../../../src/wallet/Allocation.ts"
import type { FoldedTransition, Segment } from "../../../src/wallet/Fold.ts"
import { readAllGrants, readCards } from "../../../src/wallet/LedgerReads.ts"
import { readMeters } from "../../../src/wallet/meterReads.ts"
import type { Logs } from "./Witness.ts"

const numbers = <A extends Record<string, unknown>>(row: A, names: ReadonlyArray<keyof A>) =>
  Object.fromEntries(names.map((name) => [name, row[name] === null ? null : Number(row[name])]))

/** Of an account that is alone in its database. */
export const storedBooks = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  const [wallet] = yield* sql<{ balance_micro_usd: bigint; debt_micro_usd: bigint; entries: bigint }>`
    select * from wallets where account_id = ${accountId}`
  const ids = yield* sql<{ sandbox_id: string }>`select sandbox_id from meters order by sandbox_id`
  const meters = yield* readMeters(
    sql,
    ids.map((row) => row.sandbox_id)
  )
  const segments = yield* sql<Record<string, unknown>>`
    select sandbox_id as "sandboxId", number, from_at as "from", to_at as "to", sign, takes_back as "takesBack", is_running as "isRunning",
           has_volume as "hasVolume", vcpu_sum::text, memory_sum::text, volume_sum::text, vcpu_rate::text, memory_rate::text, volume_rate::text,
           vcpu_micro_usd, memory_micro_usd, volume_micro_usd, milli_vcpus, memory_bytes, volume_bytes
    from segments order by sandbox_id, number`
  const entries = yield* sql<Record<string, unknown>>`
    select id, number, at, kind, micro_usd as "microUsd", balance_micro_usd as "balanceMicroUsd", sandbox_id as "sandboxId", segment,
           period_from, period_to, description, grant_id as "grantId", reverses_id as "reversesId"
    from ledger_entries where account_id = ${accountId} order by number`
  const allocations = yield* sql<Record<string, unknown>>`
    select a.entry_id as "entryId", a.number, a.grant_id as "grantId", a.micro_usd as "microUsd", a.spent_by as "spentBy"
    from allocations a join ledger_entries e on e.id = a.entry_id order by e.number, a.number`
  return {
    wallet: {
      accountId,
      balanceMicroUsd: wallet?.balance_micro_usd ?? 0n,
      debtMicroUsd: wallet?.debt_micro_usd ?? 0n,
      entries: wallet?.entries ?? 0n
    },
    cards: yield* readCards(sql),
    meters: [...meters.values()].toSorted((a, b) => (a.sandboxId < b.sandboxId ? -1 : 1)),
    segments: segments.map((row) => {
      const { sandboxId, sign, isRunning, hasVolume } = row as unknown as Segment
      const amounts = (what: string) => ({
        vcpu: BigInt(row[`vcpu_${what}`] as string),
        memory: BigInt(row[`memory_${what}`] as string),
        volume: BigInt(row[`volume_${what}`] as string)
      })
      const instants = numbers(row, ["number", "from", "to", "takesBack"]) as Pick<
        Segment,
        "number" | "from" | "to" | "takesBack"
      >
      const exact = { sums: amounts("sum"), rates: amounts("rate"), cost: amounts("micro_usd") }
      const sizes = {
        vcpus: Number(row["milli_vcpus"]) / 1000,
        memoryBytes: Number(row["memory_bytes"]),
        volumeBytes: Number(row["volume_bytes"])
      }
      return { sandboxId, sign, isRunning, hasVolume, ...sizes, ...instants, ...exact }
    }),
    grants: yield* readAllGrants(sql, accountId),
    entries: entries.map(({ period_from, period_to, ...entry }) => ({
      ...(entry as unknown as Entry),
      at: Number(entry["at"]),
      period: period_from === null ? null : { from: Number(period_from), to: Number(period_to) }
    })),
    allocations: allocations as unknown as ReadonlyArray<Allocation>
  }
})

type SandboxName = Pick<SandboxInput, "accountId" | "name">

/** The logs of all Sandboxes that ever ran, and of all snapshots and images that were ever ready. */
export const storedLogs = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql<
    FoldedTransition & {
      readonly sandbox_id: string
      readonly snapshot_of: string | null
      readonly input: SandboxInput
    }
  >`
    select a.id as sandbox_id, case when a.kind <> 'sandbox' then a.sandbox_id end as snapshot_of, a.input, t.revision::int4 as revision, t.at::float8 as at, t.from_state as from, t.to_state as to,
           (t.event ->> 'seenAt')::float8 as "seenAt",
           case when a.kind <> 'sandbox' and t.event -> 'storedBytes' is not null
                then jsonb_build_object('vcpus', 0, 'memoryBytes', 0, 'volumeBytes', t.event -> 'storedBytes')
                when t.event #> '{changes,profile}' is not null then jsonb_build_object('vcpus', t.event #> '{changes,profile,vcpus}',
             'memoryBytes', t.event #> '{changes,profile,memoryBytes}', 'volumeBytes', t.event #> '{changes,profile,diskBytes}') end as sizes
    from actors a join transitions t on t.actor_id = a.id
    where a.kind in ('sandbox', 'snapshot', 'image')
      and exists (select 1 from transitions r where r.actor_id = a.id and r.to_state in ('running', 'ready'))
    order by a.id, t.revision`
  return new Map(
    [...Map.groupBy(rows, ({ sandbox_id }) => sandbox_id)].map(([sandboxId, log]) => {
      // An image has neither a workspace nor sizes.
      const { accountId, workspaceId = "images", name, profile } = log[0]!.input as Partial<SandboxInput> & SandboxName
      const { vcpus = 0, memoryBytes = 0, diskBytes = 0 } = profile ?? {}
      const snapshotOf = log[0]!.snapshot_of
      const sizes =
        snapshotOf === null
          ? { vcpus, memoryBytes, volumeBytes: diskBytes }
          : { vcpus: 0, memoryBytes: 0, volumeBytes: 0 }
      const sandbox = { sandboxId, snapshotOf, accountId, workspaceId, name, ...sizes }
      return [sandboxId, { sandbox, log }]
    })
  ) satisfies Logs
})
