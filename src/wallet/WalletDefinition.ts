/** Runs the commands of a wallet: asks the ledger, and stops Sandboxes. */

import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { mayGoOn, walletMachine } from "../../machines/wallet.ts"
import { WalletContext } from "../../schemas/contexts/Wallet.ts"
import { committedReason, type PublicReason } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { defineActor } from "../engine/defineActor.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { inhabitedStates } from "./billedStates.ts"
import { Ledger } from "./Ledger.ts"
import type { Reckoning } from "./settleAccount.ts"

/** How many Sandboxes are stopped before the credit is checked again. */
const stopBatch = 16
/** Log entries of a wallet are soon useless, because the ledger has the facts. Each call of the ledger deletes up to this many of the oldest. */
const forgetBatch = 16
const dayMs = 24 * 60 * 60 * 1000

/** Clamps to a safe integer. */
const amount = (microUsd: bigint): number =>
  Math.min(Math.max(Number(microUsd), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)

export const walletDefinition = Effect.gen(function* () {
  const host = yield* ActorHost
  const ledger = yield* Ledger
  const sql = yield* SqlClient.SqlClient
  const { creditGraceSeconds, retentionDays } = yield* Settings
  const graceMs = creditGraceSeconds * 1000

  const figuresOf = (reckoning: Reckoning) => ({
    type: "RECKONED" as const,
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

  /** Posts at the first call and at the planned instant; else it only reads. */
  const reckon = Effect.fnUntraced(function* (walletId: string, { accountId, nextAt, reckonedAt }: WalletContext) {
    const now = yield* Clock.currentTimeMillis
    const isDue = reckonedAt === null || (nextAt !== null && now >= nextAt)
    const reckoning = yield* isDue ? ledger.settle(accountId) : ledger.reckon(accountId)
    yield* forgetOldEntries(walletId, now)
    return figuresOf(reckoning)
  })

  const findInhabited = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: Schema.String, after: Schema.String }),
    Result: Schema.Struct({ id: Schema.String, revision: Int8 }),
    execute: ({ accountId, after }) => sql`
      select id, revision from actors
      where account_id = ${accountId} and kind = 'sandbox' and sandbox_status = any(${textColumn(inhabitedStates)}::text[])
        and id > ${after}
      order by id limit ${stopBatch}`
  })

  const stopSandboxes = Effect.fnUntraced(function* (accountId: string, reason: PublicReason) {
    let after = ""
    while (true) {
      // A top-up may have come before its notification.
      if (mayGoOn(figuresOf(yield* ledger.reckon(accountId)), graceMs)) return { type: "CHANGED" as const }
      const found = yield* Effect.orDie(findInhabited({ accountId, after }))
      yield* Effect.forEach(
        found,
        ({ id, revision }) =>
          host.send(sandboxMachine, id, { type: "STOP", reason }, { cause: "wallet", revision }).pipe(
            // It has already ended.
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

  return defineActor(walletMachine, {
    context: WalletContext,
    commands: {
      reckon: { lane: null, run: (scope) => reckon(scope.state().id, scope.state().context) },
      // A newer stop checks every Sandbox again.
      stopSandboxes: {
        lane: "stop",
        run: (scope, reason) => stopSandboxes(scope.state().context.accountId, committedReason(reason))
      }
    }
  })
})
