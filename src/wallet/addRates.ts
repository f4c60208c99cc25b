/** Adds a rate card, while the rates are locked. */
import { Clock, Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../store/Columns.ts"
import { lockRates } from "./LedgerReads.ts"
import { notifyWallets } from "./notifyWallet.ts"
import { type RateCard, rateMaxNanoUsd } from "./RateCard.ts"

/** A rate card that is not taken. `message` is a sentence that says why. */
export class RatesRefused extends Schema.TaggedError<RatesRefused>()("RatesRefused", { message: Schema.String }) {}

/** `effectiveAt` absent: now. */
export type NewRates = Omit<RateCard, "createdAt" | "effectiveAt"> & { readonly effectiveAt?: number }

/** Up to where the meter that is furthest stands. */
const findCharged = (sql: SqlClient.SqlClient) =>
  SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ at: Schema.NullOr(Int8) }),
    execute: () => sql`select max(at) as at from meters`
  })

const findBurning = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ account_id: Schema.String }),
    execute: () => sql`select distinct account_id from meters where closed_at is null`
  })

export const addRates = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, rates: NewRates) {
  const { vcpuSecondNanoUsd, memoryGibSecondNanoUsd, volumeGibSecondNanoUsd, snapshotGibSecondNanoUsd } = rates
  for (const rate of [vcpuSecondNanoUsd, memoryGibSecondNanoUsd, volumeGibSecondNanoUsd, snapshotGibSecondNanoUsd]) {
    if (rate >= 0n && rate <= rateMaxNanoUsd) continue
    return yield* new RatesRefused({ message: `A rate is from 0 to ${rateMaxNanoUsd} nano-USD a second.` })
  }
  yield* lockRates(sql)
  const now = yield* Clock.currentTimeMillis
  // Another process's clock may be ahead, and has closed segments at rates that cannot change any more.
  const { at } = yield* findCharged(sql)()
  const earliest = Math.max(now, at ?? 0)
  const effectiveAt = rates.effectiveAt ?? earliest
  if (effectiveAt < earliest) {
    return yield* new RatesRefused({
      message: `Rates hold from now on or later, not from ${new Date(effectiveAt).toISOString()}: what was used before then is charged already.`
    })
  }
  const made = yield* sql`
    insert into rate_cards (effective_at, vcpu_second_nano_usd, memory_gib_second_nano_usd, volume_gib_second_nano_usd,
      snapshot_gib_second_nano_usd, created_at)
    values (${BigInt(effectiveAt)}, ${vcpuSecondNanoUsd}, ${memoryGibSecondNanoUsd}, ${volumeGibSecondNanoUsd},
      ${snapshotGibSecondNanoUsd}, ${BigInt(now)})
    on conflict do nothing returning effective_at`
  if (made.length === 0) {
    return yield* new RatesRefused({
      message: `There are rates already that hold from ${new Date(effectiveAt).toISOString()} on.`
    })
  }
  const burning = yield* findBurning(sql)()
  yield* notifyWallets(
    sql,
    burning.map(({ account_id }) => account_id)
  )
  return { ...rates, effectiveAt, createdAt: now }
})
