/**
 * Services write the notes of calls in groups. This sends a request to each of them by an account of no other test:
 * once that is written, so are all earlier notes.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../src/account/Accounts.ts"
import { ApiKeys } from "../../../src/account/ApiKeys.ts"

const lookEveryMs = 50

const newKey = Effect.gen(function* () {
  const { id: accountId } = yield* (yield* Accounts).named(`marks ${randomUUID()}`)
  return (yield* (yield* ApiKeys).create({ accountId, name: "marks", scopes: ["sandbox:create"] })).secret
})

/** @param origins Of the services. */
export const auditWrittenBy = (origins: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const run = Effect.runPromiseWith(yield* Effect.context<Accounts | ApiKeys | SqlClient.SqlClient>())
    let key: Promise<string> | null = null
    return async (): Promise<void> => {
      key ??= run(Effect.orDie(newKey))
      const authorization = `Bearer ${await key}`
      const marks = await Promise.all(
        origins.map(async (origin) => {
          const mark = randomUUID()
          const headers = { authorization, "content-type": "application/json", "x-request-id": mark }
          await (await fetch(`${origin}/api/v2/workspaces`, { method: "POST", headers, body: "{}" })).text()
          return mark
        })
      )
      const written = sql`select 1 from audit_events where ${sql.in("request_id", marks)}`
      while ((await run(Effect.orDie(written))).length < marks.length) {
        await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
      }
    }
  })
