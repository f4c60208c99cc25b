/** When each key was last used: remembered at once, written every now and then. */
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "../store/BoundedMap.ts"
import { worker } from "../worker/Worker.ts"

const writeEvery = "30 seconds"
/** So many wait at most for a database that does not take them; those used longest ago are given up first. */
const unwrittenMax = 10_000

export class KeyUse extends Context.Service<
  KeyUse,
  {
    readonly note: (apiKeyId: string) => void
    /** Epoch milliseconds of a use in this process that is not written yet. */
    readonly unwritten: (apiKeyId: string) => number | null
    readonly write: Effect.Effect<void>
  }
>()("atoll/account/KeyUse") {
  static readonly layer = Layer.effect(
    KeyUse,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const used = new BoundedMap<string, number>(unwrittenMax)

      const write = Effect.suspend(() => {
        const noted = [...used]
        if (noted.length === 0) return Effect.void
        return sql
          .unsafe(
            `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
             from unnest($1::text[], $2::int8[]) as u (id, at) where k.id = u.id`,
            [noted.map(([id]) => id), noted.map(([, at]) => BigInt(at))]
          )
          .pipe(
            // What was noted meanwhile is written the next time; so is all, when this fails.
            Effect.map(() => {
              for (const [id, at] of noted) if (used.get(id) === at) used.delete(id)
            }),
            Effect.catch((error) => Effect.logWarning("The last use of API keys could not be written", error))
          )
      })

      yield* Effect.addFinalizer(() => write)
      yield* worker("key use", write.pipe(Effect.repeat(Schedule.spaced(writeEvery))))

      return {
        note: (apiKeyId) => void used.set(apiKeyId, Date.now()),
        unwritten: (apiKeyId) => used.get(apiKeyId) ?? null,
        write
      }
    })
  )
}
