/**
 * Hears of changes to accounts' money by other programs (the operator's command line), and tells their wallets: from the rows that `nudge.ts`
 * leaves, which are read at the start, at each notification and whenever one may have been missed. One is forgotten only once its wallet has stored that it heard.
 *
 * Every process listens; a wallet that is told twice asks once.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { Notices, readAtEachNotice } from "../store/Notices.ts"
import { worker } from "../worker/Worker.ts"
import { nudgeChannel } from "./nudge.ts"
import { WalletActors } from "./WalletActors.ts"

const batch = 256
const toldAtOnce = 8
/** One that could not be told is told again, also if nobody else is heard of. */
const againAfterMs = 5_000

const Nudge = Schema.Struct({ account_id: Schema.String, token: Schema.String })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notices = yield* Notices
  const watch = yield* DatabaseWatch
  const wallets = yield* WalletActors

  /** Whether it was told. */
  const tell = ({ account_id, token }: typeof Nudge.Type) =>
    wallets.changed(account_id).pipe(
      // Whoever nudged meanwhile has left another token.
      Effect.andThen(sql`delete from wallet_nudges where account_id = ${account_id} and token = ${token}`),
      Effect.as(true),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning(`The wallet of ${account_id} was not told of a change, and will be`, cause), false)
      )
    )

  const findAfter = SqlSchema.findAll({
    Request: Schema.String,
    Result: Nudge,
    execute: (after) => sql`
      select account_id, token from wallet_nudges where account_id > ${after} order by account_id limit ${batch}`
  })

  /** All that are there. Fails only with what the database does. */
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

  // Listened first, read afterwards: nothing is told in between that is not seen.
  const listen = Effect.scoped(readAtEachNotice(notices, nudgeChannel, watch.untilServed(tellAll), againAfterMs))
  yield* worker("wallet nudges", listen)
})

export const WalletNudges = { layer: Layer.effectDiscard(make) }
