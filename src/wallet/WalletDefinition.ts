/** How the commands of a wallet are done: the ledger is asked, and Sandboxes are told to stop. */
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type WalletContext, walletMachine } from "../../machines/wallet.ts"
import type { ActorDefinition, AnyEvent, CommandScope } from "../actor/ActorDefinition.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import { Settings } from "../Config.ts"
import { inhabitedStates } from "../sandbox/sandboxStates.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"
import { Ledger, type Reckoning } from "./Ledger.ts"

/** So many Sandboxes are told to stop before it is looked again whether they shall. */
const stopBatch = 16
/** Its log is read by nobody for long: the ledger says what was. So many of its oldest entries are looked at whenever the ledger is asked. */
const forgetBatch = 16
const dayMs = 24 * 60 * 60 * 1000

/** A context as it is stored: held against what is loaded. */
const context = Schema.Struct({
  accountId: Schema.String,
  createdAt: Schema.Number,
  balanceMicroUsd: Schema.Number,
  burnMicroUsdPerHour: Schema.Number,
  grantedMicroUsd: Schema.Number,
  exhaustedAt: Schema.NullOr(Schema.Number),
  lowAt: Schema.NullOr(Schema.Number),
  nextAt: Schema.NullOr(Schema.Number),
  suspendedAt: Schema.NullOr(Schema.Number),
  reckonedAt: Schema.NullOr(Schema.Number),
  isReckoning: Schema.Boolean,
  isStale: Schema.Boolean,
  stopAt: Schema.NullOr(Schema.Number)
})

/** A safe integer; what is beyond them is as much as they can say. */
const amount = (microUsd: bigint): number =>
  Math.min(Math.max(Number(microUsd), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)

export const walletDefinition = Effect.gen(function* () {
  const host = yield* ActorHost
  const ledger = yield* Ledger
  const sql = yield* SqlClient.SqlClient
  const { creditGraceSeconds, retentionDays } = yield* Settings
  const graceMs = creditGraceSeconds * 1000

  const figuresOf = (reckoning: Reckoning): AnyEvent => ({
    type: "RECKONED",
    status: reckoning.status,
    balanceMicroUsd: amount(reckoning.balanceMicroUsd),
    burnMicroUsdPerHour: amount(reckoning.burnMicroUsdPerHour),
    grantedMicroUsd: amount(reckoning.grantedMicroUsd),
    exhaustedAt: reckoning.exhaustedAt,
    lowAt: reckoning.lowAt,
    nextAt: reckoning.nextAt,
    suspendedAt: reckoning.suspendedAt,
    reckonedAt: reckoning.at,
    graceMs
  })

  const forgetOldEntries = (walletId: string, now: number) =>
    sql`
      delete from transitions where actor_id = ${walletId} and at < ${BigInt(now - retentionDays * dayMs)}
        and revision in (select revision from transitions where actor_id = ${walletId} order by revision limit ${forgetBatch})
        and revision < (select revision from actors where id = ${walletId})`.pipe(Effect.orDie)

  /** At first, and at an instant that it was told of, whatever is due is posted; else reading will do. */
  const reckon = Effect.fnUntraced(function* (walletId: string, { accountId, nextAt, reckonedAt }: WalletContext) {
    const now = yield* Clock.currentTimeMillis
    const isDue = reckonedAt === null || (nextAt !== null && now >= nextAt)
    const reckoning = yield* isDue ? ledger.settle(accountId) : ledger.reckon(accountId)
    yield* forgetOldEntries(walletId, now)
    return figuresOf(reckoning)
  })

  const mayGoOn = ({ status, suspendedAt, exhaustedAt, at }: Reckoning): boolean =>
    suspendedAt === null && (status !== "exhausted" || at < (exhaustedAt ?? at) + graceMs)

  const findInhabited = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: Schema.String, after: Schema.String }),
    Result: Schema.Struct({ id: Schema.String, revision: Int8 }),
    execute: ({ accountId, after }) => sql`
      select id, revision from actors
      where account_id = ${accountId} and kind = 'sandbox' and sandbox_status = any(${textColumn(inhabitedStates)}::text[])
        and id > ${after}
      order by id limit ${stopBatch}`
  })

  const stopSandboxes = Effect.fnUntraced(function* (
    accountId: string,
    reason: { readonly code: string; readonly message: string }
  ) {
    let after = ""
    while (true) {
      // A top-up may have come before whoever tells of it.
      if (mayGoOn(yield* ledger.reckon(accountId))) return { type: "CHANGED" }
      const found = yield* Effect.orDie(findInhabited({ accountId, after }))
      yield* Effect.forEach(
        found,
        ({ id, revision }) =>
          host.send("sandbox", id, { type: "STOP", reason }, { cause: "wallet", revision }).pipe(
            // It ended by itself meanwhile.
            Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
            Effect.orDie
          ),
        { concurrency: "unbounded", discard: true }
      )
      const last = found.at(-1)
      if (last === undefined || found.length < stopBatch) return null
      after = last.id
    }
  })

  const interpret = (command: PendingCommand, scope: CommandScope<WalletContext>): Effect.Effect<AnyEvent | null> => {
    const { id, context } = scope.state()
    switch (command.type) {
      case "reckon":
        return reckon(id, context)
      case "stopSandboxes":
        return stopSandboxes(context.accountId, command.params as { readonly code: string; readonly message: string })
      default:
        return Effect.die(new Error(`Unknown command ${command.type} of a wallet.`))
    }
  }

  const definition: ActorDefinition<WalletContext> = {
    kind: "wallet",
    version: Number(walletMachine.version),
    machine: walletMachine,
    context,
    // A newer stop looks at every Sandbox again.
    lane: (type) => (type === "stopSandboxes" ? "stop" : null),
    interpret
  }
  return definition
})
