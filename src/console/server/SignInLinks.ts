/** Links that sign in once, for people without a passphrase. The operator creates them. */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../../store/Columns.ts"
import { isToken, newToken, sha256Of } from "./Token.ts"

export const linkValidMs = 24 * 60 * 60 * 1000

export class SignInLinks extends Context.Service<
  SignInLinks,
  {
    /** `code` is available only here. */
    readonly create: (accountId: string) => Effect.Effect<{ readonly code: string; readonly expiresAt: number }>
    /** Consumes the link, unless the caller's transaction is rolled back, and returns its account. Null: the link is not valid. */
    readonly take: (code: string) => Effect.Effect<string | null>
    /** True if any account has a passphrase or was given a link. */
    readonly isAnybodyKnown: Effect.Effect<boolean>
  }
>()("atoll/console/server/SignInLinks") {
  static readonly layer = Layer.effect(
    SignInLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const create = Effect.fn("SignInLinks.create")(function* (accountId: string) {
        const code = newToken()
        const now = yield* Clock.currentTimeMillis
        const expiresAt = now + linkValidMs
        yield* sql`
          insert into sign_in_links (code_sha256, account_id, created_at, expires_at)
          values (${sha256Of(code)}, ${accountId}, ${BigInt(now)}, ${BigInt(expiresAt)})`
        return { code, expiresAt }
      }, Effect.orDie)

      const use = SqlSchema.findOneOption({
        Request: Schema.Struct({ sha256: Schema.String, now: Int8 }),
        Result: Schema.Struct({ account_id: Schema.String }),
        execute: ({ sha256, now }) => sql`
          update sign_in_links set used_at = ${now}
          where code_sha256 = ${sha256} and used_at is null and expires_at > ${now}
          returning account_id`
      })

      const take = Effect.fn("SignInLinks.take")(function* (code: string) {
        if (!isToken(code)) return null
        const used = yield* use({ sha256: sha256Of(code), now: yield* Clock.currentTimeMillis })
        return Option.getOrNull(Option.map(used, ({ account_id }) => account_id))
      }, Effect.orDie)

      const findAny = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ is_known: Schema.Boolean }),
        execute: () => sql`
          select exists (select 1 from passphrases) or exists (select 1 from sign_in_links)
                 or exists (select 1 from sessions) as is_known`
      })

      const isAnybodyKnown = findAny().pipe(
        Effect.map(({ is_known }) => is_known),
        Effect.orDie
      )

      return { create, take, isAnybodyKnown }
    })
  )
}
