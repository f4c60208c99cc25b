/**
 * The real ledger under stress. For each call, one process first does a part of it and ends; then two do it
 * concurrently, and one of them again.
 */
import assert from "node:assert/strict"
import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Sizes } from "../../../src/wallet/Cost.ts"
import type { FoldedTransition, MeteredSandbox } from "../../../src/wallet/Fold.ts"
import { Ledger } from "../../../src/wallet/Ledger.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { storedBooks } from "../../support/wallet/storedBooks.ts"
import { Crash, type CrashPlan, crashingClient } from "./crashingClient.ts"
import type { LedgerUnderTest } from "./MoneyRun.ts"

const ledgerOn = (sql: SqlClient.SqlClient) =>
  Effect.map(Layer.build(Ledger.layer.pipe(Layer.provide(Layer.succeed(SqlClient.SqlClient, sql)))), (context) =>
    Context.get(context, Ledger)
  )

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

  commit = (
    { sandboxId, snapshotOf, accountId, workspaceId, ...size }: MeteredSandbox,
    transition: FoldedTransition
  ) => {
    const { revision, at, from, to, seenAt, sizes } = transition
    const kind = snapshotOf === null ? "sandbox" : "snapshot"
    const status = snapshotOf === null ? to : null
    const changed = (now: Sizes) =>
      snapshotOf === null
        ? { changes: { profile: { ...now, diskBytes: now.volumeBytes } } }
        : { storedBytes: now.volumeBytes }
    const event = {
      type: "X",
      ...(seenAt === null ? {} : { seenAt }),
      ...(sizes === null ? {} : changed(sizes))
    }
    const profile = { vcpus: size.vcpus, memoryBytes: size.memoryBytes, diskBytes: size.volumeBytes }
    const snapshot = JSON.stringify({ value: to, context: { workspaceId } })
    const sql = this.#sql
    const actor =
      revision === 1
        ? sql`insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, sandbox_status, created_at)
              values (${sandboxId}, ${kind}, ${accountId}, ${snapshotOf ?? sandboxId}, 1, 1, ${JSON.stringify({ name: null, profile })}::jsonb,
                      ${snapshot}::jsonb, ${status}, 0)`
        : sql`update actors set revision = ${BigInt(revision)}, snapshot = ${snapshot}::jsonb, sandbox_status = ${status} where id = ${sandboxId}`
    return this.#run(
      sql.withTransaction(
        Effect.andThen(
          actor,
          sql`insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
              values (${sandboxId}, ${BigInt(revision)}, ${BigInt(at)},
                      ${JSON.stringify(event)}::jsonb, ${from}, ${to}, '[]'::jsonb, 'test', '')`
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

  books: LedgerUnderTest["books"] = () => this.#run(storedBooks(this.#sql, this.#accountId))

  /** A process that ends does half of it, and nothing of that is kept. */
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
}
