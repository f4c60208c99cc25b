/** When each key was last used: remembered at once, written every now and then. */
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { worker } from "../worker/Worker.ts"

const writeEvery = "30 seconds"

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
      let used = new Map<string, number>()

      const write = Effect.suspend(() => {
        if (used.size === 0) return Effect.void
        const noted = used
        used = new Map()
        return sql
          .unsafe(
            `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
             from unnest($1::text[], $2::int8[]) as u (id, at) where k.id = u.id`,
            [[...noted.keys()], [...noted.values()].map(BigInt)]
          )
          .pipe(
            Effect.asVoid,
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
