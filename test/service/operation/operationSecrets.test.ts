/** An operation's environment and input are erased once it no longer needs them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { operationSecrets } from "../../../src/operation/operationSecrets.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

interface Stored {
  /** Where this version of the row lies: a write moves it. */
  readonly place: string
  readonly payload: unknown
}

/** The stored row before and after its secrets are erased. */
const erased = Effect.fnUntraced(function* (id: string, payload: object) {
  const sql = yield* SqlClient.SqlClient
  const stored = Effect.map(
    sql<Stored>`select ctid::text as place, payload from actors where id = ${id}`,
    ([row]) => row!
  )
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, payload, snapshot, created_at)
    values (${id}, 'operation', 'acc_secrets', 'sbx_secrets', 1, 1, '{}', ${JSON.stringify(payload)}::text::jsonb, '{"value": "completed", "context": {}}', 1)`
  const before = yield* stored
  yield* (yield* operationSecrets)(id)
  return { before, after: yield* stored }
})

const rest = { argv: ["true"], cwd: "/workspace", sandboxEnv: "env_1" }
const nothing = { ...rest, env: null, stdin: null }

layer(TestDatabase.layer, { excludeTestServices: true })("the secrets of an operation", (it) => {
  it.effect("are erased, whichever of them it has", () =>
    Effect.gen(function* () {
      for (const [index, secrets] of [
        { env: { TOKEN: "a secret" }, stdin: null },
        { env: {}, stdin: "YSBzZWNyZXQ=" },
        { env: { TOKEN: "a secret" }, stdin: "YSBzZWNyZXQ=" },
        { env: {}, stdin: "" }
      ].entries()) {
        const { before, after } = yield* erased(`op_secrets${index}`, { ...rest, ...secrets })
        assert.deepStrictEqual(before.payload, { ...rest, ...secrets })
        assert.deepStrictEqual(after.payload, nothing)
      }
    })
  )

  it.effect("cost no write where it has none, or they were erased before", () =>
    Effect.gen(function* () {
      for (const [index, payload] of [{ ...rest, env: {}, stdin: null }, nothing].entries()) {
        const { before, after } = yield* erased(`op_noSecrets${index}`, payload)
        assert.deepStrictEqual(after, before)
      }
    })
  )
})
