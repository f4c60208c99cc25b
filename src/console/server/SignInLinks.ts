/** Links that sign in once, for who has no passphrase or lost it. The operator makes them. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { isToken, newToken, sha256Of } from "./Token.ts"

export const linkValidMs = 24 * 60 * 60 * 1000

export class SignInLinks extends Context.Service<
  SignInLinks,
  {
    /** `code` is known here and never again. */
    readonly create: (accountId: string) => Effect.Effect<{ readonly code: string; readonly expiresAt: number }>
    /** Whose it is; it is used up by that, unless the caller's transaction is not committed. Null: there is none that can be used. */
    readonly take: (code: string) => Effect.Effect<string | null>
    /** Somebody could sign in, or was given a link for it. */
    readonly isAnybodyKnown: Effect.Effect<boolean>
  }
>()("atoll/console/SignInLinks") {
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

      const take = Effect.fn("SignInLinks.take")(function* (code: string) {
        if (!isToken(code)) return null
        const now = BigInt(yield* Clock.currentTimeMillis)
        const [row] = yield* sql<{ readonly account_id: string }>`
          update sign_in_links set used_at = ${now}
          where code_sha256 = ${sha256Of(code)} and used_at is null and expires_at > ${now}
          returning account_id`
        return row?.account_id ?? null
      }, Effect.orDie)

      const isAnybodyKnown = sql<{ readonly is_known: boolean }>`
        select exists (select 1 from passphrases) or exists (select 1 from sign_in_links)
               or exists (select 1 from sessions) as is_known`.pipe(
        Effect.map((rows) => rows[0]!.is_known),
        Effect.orDie
      )

      return { create, take, isAnybodyKnown }
    })
  )
}
