/** When each key was last used, and from which address: remembered at once, written every now and then. */
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "../store/BoundedMap.ts"
import { textColumn } from "../store/Columns.ts"
import { worker } from "../worker/Worker.ts"

const writeEvery = "30 seconds"
/** So many wait at most for a database that does not take them; those used longest ago are given up first. */
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
    /** A use in this process that is not written yet. */
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
            // What was noted meanwhile is written the next time; so is all, when this fails.
            Effect.map(() => {
              for (const [id, one] of noted) if (used.get(id) === one) used.delete(id)
            }),
            Effect.catch((error) => Effect.logWarning("The last use of API keys could not be written", error))
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
