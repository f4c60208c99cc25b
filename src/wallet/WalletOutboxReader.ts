/**
 * Passes changes to accounts' money by other programs (the operator's command line) on to their wallets. It reads the outbox rows of `notifyWallet.ts`
 * at the start, at each notification and whenever one may have been missed. A row is deleted only after its wallet has stored the change.
 *
 * Every process listens; a wallet that receives a change twice asks the ledger once.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { worker } from "../platform/worker/Worker.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { Notices, readAtEachNotice } from "../store/Notices.ts"
import { walletChannel } from "./notifyWallet.ts"
import { WalletActors } from "./WalletActors.ts"

const batch = 256
const toldAtOnce = 8
/** Retry interval for a row that could not be passed on, even without a notification. */
const againAfterMs = 5_000

const OutboxRow = Schema.Struct({ account_id: Schema.String, token: Schema.String })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notices = yield* Notices
  const watch = yield* DatabaseWatch
  const wallets = yield* WalletActors

  /** True if the wallet has stored the change. */
  const tell = ({ account_id, token }: typeof OutboxRow.Type) =>
    wallets.changed(account_id).pipe(
      // A newer change has another token.
      Effect.andThen(sql`delete from wallet_nudges where account_id = ${account_id} and token = ${token}`),
      Effect.as(true),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logWarning(`Could not tell the wallet of ${account_id} about a change; it will be retried`, cause),
          false
        )
      )
    )

  const findAfter = SqlSchema.findAll({
    Request: Schema.String,
    Result: OutboxRow,
    execute: (after) => sql`
      select account_id, token from wallet_nudges where account_id > ${after} order by account_id limit ${batch}`
  })

  /** Passes on all rows. Fails only with the database's faults. */
  const tellAll = Effect.gen(function* () {
    let after = ""
    let isAllTold = true
    while (true) {
      const found = yield* Effect.catchTag(findAfter(after), "SchemaError", Effect.die)
      const told = yield* Effect.forEach(found, tell, { concurrency: toldAtOnce })
      if (told.includes(false)) isAllTold = false
      if (found.length < batch) return isAllTold
      after = found.at(-1)!.account_id
    }
  })

  // Listens before it reads, so that no row in between is missed.
  const listen = Effect.scoped(readAtEachNotice(notices, walletChannel, watch.untilServed(tellAll), againAfterMs))
  yield* worker("wallet outbox", listen)
})

export const WalletOutboxReader = { layer: Layer.effectDiscard(make) }
