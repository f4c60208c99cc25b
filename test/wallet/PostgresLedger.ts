/**
 * The real ledger, hard pressed: whatever it is asked, a process first does a part of and ends; then two do it at once, and one of them
 * once more.
 */
import assert from "node:assert/strict"
import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Allocation, Entry } from "../../src/wallet/Allocation.ts"
import type { FoldedTransition, MeteredSandbox, Segment } from "../../src/wallet/Fold.ts"
import { Ledger } from "../../src/wallet/Ledger.ts"
import { readAllGrants, readCards, readMeters } from "../../src/wallet/LedgerReads.ts"
import { ShiftedClock } from "../support/ShiftedClock.ts"
import { Crash, type CrashPlan, crashingClient } from "./crashingClient.ts"
import type { LedgerUnderTest } from "./MoneyRun.ts"

const ledgerOn = (sql: SqlClient.SqlClient) =>
  Effect.map(Layer.build(Ledger.layer.pipe(Layer.provide(Layer.succeed(SqlClient.SqlClient, sql)))), (context) =>
    Context.get(context, Ledger)
  )

const numbers = <A extends Record<string, unknown>>(row: A, names: ReadonlyArray<keyof A>) =>
  Object.fromEntries(names.map((name) => [name, row[name] === null ? null : Number(row[name])]))

type Run = <A, E>(effect: Effect.Effect<A, E>) => Promise<A>

export class PostgresLedger implements LedgerUnderTest {
  readonly #sql: SqlClient.SqlClient
  readonly #ledger: Ledger["Service"]
  readonly #mortal: Ledger["Service"]
  readonly #plan: CrashPlan
  readonly #accountId: string
  readonly #clock = new ShiftedClock()
  readonly #run: Run
  #asked = 0
  /** How often a process ended in the middle. */
  crashes = 0

  private constructor(
    sql: SqlClient.SqlClient,
    ledger: Ledger["Service"],
    mortal: Ledger["Service"],
    plan: CrashPlan,
    accountId: string
  ) {
    this.#sql = sql
    this.#ledger = ledger
    this.#mortal = mortal
    this.#plan = plan
    this.#accountId = accountId
    this.#run = (effect) => Effect.runPromise(Effect.provideService(effect, Clock.Clock, this.#clock))
  }

  /** Of a prepaid account, alone in its database. */
  static of(accountId: string) {
    return Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const plan: CrashPlan = { left: null }
      yield* sql`truncate accounts, meters, segments, grants, wallets, ledger_entries, allocations, wallet_nudges, actors, transitions cascade`
      yield* sql`delete from rate_cards where effective_at > 0`
      yield* sql`insert into accounts (id, name, created_at, billing) values (${accountId}, ${accountId}, 0, 'prepaid')`
      const mortal = yield* ledgerOn(crashingClient(sql, plan))
      return new PostgresLedger(sql, yield* ledgerOn(sql), mortal, plan, accountId)
    })
  }

  now = (at: number) => {
    this.#clock.frozenAt = at
  }

  commit = ({ sandboxId, accountId, workspaceId, ...size }: MeteredSandbox, transition: FoldedTransition) => {
    const { revision, at, from, to, seenAt } = transition
    const profile = { vcpus: size.vcpus, memoryBytes: size.memoryBytes, diskBytes: size.volumeBytes }
    const snapshot = JSON.stringify({ value: to, context: { workspaceId } })
    const sql = this.#sql
    const actor =
      revision === 1
        ? sql`insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, sandbox_status, created_at)
              values (${sandboxId}, 'sandbox', ${accountId}, ${sandboxId}, 1, 1, ${JSON.stringify({ name: null, profile })}::jsonb,
                      ${snapshot}::jsonb, ${to}, 0)`
        : sql`update actors set revision = ${BigInt(revision)}, snapshot = ${snapshot}::jsonb, sandbox_status = ${to} where id = ${sandboxId}`
    return this.#run(
      sql.withTransaction(
        Effect.andThen(
          actor,
          sql`insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
              values (${sandboxId}, ${BigInt(revision)}, ${BigInt(at)},
                      ${JSON.stringify(seenAt === null ? { type: "X" } : { type: "X", seenAt })}::jsonb, ${from}, ${to}, '[]'::jsonb, 'test', '')`
        )
      )
    ).then(() => {})
  }

  fold = async (sandboxId: string) => {
    await this.#pressed((ledger) => ledger.foldSandbox(sandboxId))
  }

  settle = async (at: number) => {
    await this.#pressed((ledger) => ledger.settle(this.#accountId, at))
  }

  balance = async () => {
    const reckoned = await this.#run(this.#ledger.balance(this.#accountId))
    const again = await this.#run(this.#ledger.reckon(this.#accountId))
    const { grants, ...figures } = reckoned
    assert.deepEqual(again, figures, "what is read twice is the same")
    return reckoned.balanceMicroUsd
  }

  grant: LedgerUnderTest["grant"] = async (grant) => {
    const wanted = { ...grant, accountId: this.#accountId }
    await this.#cut((ledger) => ledger.grant(wanted))
    await this.#run(this.#ledger.grant(wanted))
  }

  setRates: LedgerUnderTest["setRates"] = async (rates) => {
    await this.#cut((ledger) => ledger.setRates(rates))
    await this.#run(Effect.ignore(this.#ledger.setRates(rates)))
  }

  /** As it is stored: the plan, beside the books. */
  exhaustedAt = async (): Promise<number | null> => {
    const [row] = await this.#run(
      this.#sql<{ at: bigint | null }>`select exhausted_at as at from accounts where id = ${this.#accountId}`
    )
    return row!.at === null ? null : Number(row!.at)
  }

  books: LedgerUnderTest["books"] = () => this.#run(this.#books)

  /** Half done by a process that ends, and nothing of it is kept. */
  async #cut<A, E>(ask: (ledger: Ledger["Service"]) => Effect.Effect<A, E>): Promise<void> {
    const before = await this.books()
    this.#asked += 1
    this.#plan.left = (this.#asked * 7) % 19
    const exit = await this.#run(Effect.exit(ask(this.#mortal)))
    const isCut = Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    if (isCut) {
      this.crashes += 1
      assert.ok(Cause.squash(exit.cause) instanceof Crash, Cause.pretty(exit.cause))
    }
    if (isCut) assert.deepEqual(await this.books(), before, "what was half done is not there")
    if (!isCut && Exit.isSuccess(exit)) this.#plan.left = null
  }

  async #pressed<A, E>(ask: (ledger: Ledger["Service"]) => Effect.Effect<A, E>): Promise<void> {
    await this.#cut(ask)
    await this.#run(Effect.all([ask(this.#ledger), ask(this.#ledger)], { concurrency: "unbounded" }))
    await this.#run(ask(this.#ledger))
  }

  get #books() {
    const sql = this.#sql
    const accountId = this.#accountId
    return Effect.gen(function* () {
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
               vcpu_micro_usd, memory_micro_usd, volume_micro_usd
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
          return { sandboxId, sign, isRunning, hasVolume, ...instants, ...exact }
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
  }
}
