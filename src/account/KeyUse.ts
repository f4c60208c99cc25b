/** When and from which address each key was last used: kept in memory, and written periodically. */
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { worker } from "../platform/worker/Worker.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { textColumn } from "../store/Columns.ts"

const writeEvery = "30 seconds"
/** The most uses that wait for the database; the oldest are dropped first. */
const unwrittenMax = 10_000

export interface Use {
  /** Epoch milliseconds. */
  readonly at: number
  readonly address: string | null
}

export class KeyUse extends Context.Service<
  KeyUse,
  {
    readonly note: (apiKeyId: string, address: string | null) => void
    /** A use in this process that is not stored yet. */
    readonly unwritten: (apiKeyId: string) => Use | null
    readonly write: Effect.Effect<void>
  }
>()("atoll/account/KeyUse") {
  static readonly layer = Layer.effect(
    KeyUse,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const used = new BoundedMap<string, Use>(unwrittenMax)

      const write = Effect.suspend(() => {
        const noted = [...used]
        if (noted.length === 0) return Effect.void
        return sql
          .unsafe(
            `update api_keys k set last_used_at = u.at, last_used_from = u.address
             from unnest($1::text[], $2::int8[], $3::text[]) as u (id, at, address)
             where k.id = u.id and coalesce(k.last_used_at, 0) <= u.at`,
            [
              noted.map(([id]) => id),
              noted.map(([, { at }]) => BigInt(at)),
              textColumn(noted.map(([, { address }]) => address))
            ]
          )
          .pipe(
            // Uses that changed meanwhile are written the next time; so are all if this fails.
            Effect.map(() => {
              for (const [id, one] of noted) if (used.get(id) === one) used.delete(id)
            }),
            Effect.catch((error) => Effect.logWarning("Could not store the last use of API keys", error))
          )
      })

      yield* Effect.addFinalizer(() => write)
      yield* worker("key use", write.pipe(Effect.repeat(Schedule.spaced(writeEvery))))

      return {
        note: (apiKeyId, address) => void used.set(apiKeyId, { at: Date.now(), address }),
        unwritten: (apiKeyId) => used.get(apiKeyId) ?? null,
        write
      }
    })
  )
}
