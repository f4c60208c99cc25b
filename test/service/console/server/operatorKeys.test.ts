/** The operator's page: keys of any account, and the check of the books, as the command line has them. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { documentOf, withinMs } from "../../../support/commandLine.ts"
import { newAccountOf, operatorBrowser } from "../../../support/console/server/operatorBrowser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const newKey = (account: string) => ({ account, name: "ci", scopes: "sandbox:read,usage:read", expiresAt: null })

layer(TestApi.layer(), { excludeTestServices: true })("the operator's page", (it) => {
  it.effect(
    "creates a key of any account, shows its secret once, and revokes it; the command line sees the same",
    () =>
      Effect.gen(function* () {
        const { send } = yield* TestApi
        const sql = yield* SqlClient.SqlClient
        const { ask, act, refused } = yield* operatorBrowser
        const name = `account ${randomUUID()}`
        const id = (yield* act("/accounts", newAccountOf(name))).said
        const made = yield* act("/keys", newKey(name))
        const [, keyId] = /^made the key (key_\w+); its secret is not shown again$/.exec(made.said)!
        const me = (secret: string) => Effect.promise(() => send("GET", "/api/v2/me", { key: secret }))
        assert.strictEqual((yield* me(made.secret!)).json.account.id, id)

        const listed = (yield* ask("GET", `/keys?account=${id}`)).json
        assert.lengthOf(listed.keys, 1)
        assert.deepInclude(listed.keys[0], { id: keyId, accountId: id, accountName: name, name: "ci", revokedAt: null })
        assert.deepStrictEqual(listed.keys[0].scopes, ["sandbox:read", "usage:read"])
        const { keys } = yield* documentOf("keys", "list", "--account", name, "--json")
        assert.deepInclude(keys[0], { id: keyId, name: "ci", scopes: listed.keys[0].scopes })
        const stored = [
          yield* sql`select a::text as row from audit_events a`,
          yield* sql`select k::text as row from api_keys k`
        ]
        for (const text of [JSON.stringify(stored), JSON.stringify(listed)]) assert.notInclude(text, made.secret!)

        assert.strictEqual((yield* act(`/keys/${keyId}/revoke`)).said, `${keyId} is revoked.`)
        assert.strictEqual((yield* me(made.secret!)).status, 401)
        const { acts } = (yield* ask("GET", `/accounts/${id}/money`)).json
        assert.includeMembers(
          acts.map(({ action, targetId }: { action: string; targetId: string }) => `${action} ${targetId}`),
          [`createKey ${keyId}`, `revokeKey ${keyId}`]
        )
        yield* refused(
          "/keys/key_none/revoke",
          undefined,
          'There is no API key "key_none". atoll keys list shows them.'
        )
        yield* refused("/keys", newKey("none"), 'There is no account named "none". atoll accounts list shows them.')
        yield* refused(
          "/keys",
          { ...newKey(name), scopes: "sandbox:fly" },
          'There is no scope "sandbox:fly". Scopes: workspace:create, sandbox:read, sandbox:create, sandbox:execute, sandbox:delete, usage:read; or all.'
        )
      }),
    withinMs
  )

  it.effect(
    "verifies the books of all accounts and of one, in the words of the command line",
    () =>
      Effect.gen(function* () {
        const { ask, act, refused } = yield* operatorBrowser
        const name = `account ${randomUUID()}`
        yield* act("/accounts", newAccountOf(name))
        const verified = (account: string | null) => ask("POST", "/usage/verify", { account })
        const one = yield* verified(name)
        assert.strictEqual(
          one.json.said,
          "0 transitions of 0 Sandboxes and 0 snapshots cost 0.00 USD. 1 account, 1 grant, 1 entry. Everything agrees."
        )
        const all = yield* verified(null)
        assert.deepInclude(all.json, { differencesCount: 0, differences: [] }, all.text)
        const sql = yield* SqlClient.SqlClient
        yield* sql`update wallets set balance_micro_usd = balance_micro_usd + 1 where account_id = (
          select id from accounts where name = ${name})`
        const wrong = (yield* verified(name)).json
        assert.match(wrong.said, /The books differ from the log, in 2 places\.$/)
        assert.strictEqual(wrong.differences.length, wrong.differencesCount)
        yield* refused(
          "/usage/verify",
          { account: "x" },
          'There is no account named "x". atoll accounts list shows them.'
        )
      }),
    withinMs
  )

  it.effect("lists keys and invitations a page at a time, newest first", () =>
    Effect.gen(function* () {
      const { ask, act } = yield* operatorBrowser
      const name = `account ${randomUUID()}`
      yield* act("/accounts", newAccountOf(name))
      const made = yield* Effect.forEach([1, 2, 3], () => act("/keys", newKey(name)))
      const invited = yield* Effect.forEach([1, 2, 3], () =>
        act("/invitations", { email: null, expiresDays: "1", creditUsd: "0" })
      )
      const idsOf = (acts: ReadonlyArray<{ readonly said: string }>, form: RegExp) =>
        acts.map(({ said }) => form.exec(said)![0]).toReversed()
      for (const [path, list, ids] of [
        [`/keys?account=${encodeURIComponent(name)}&`, "keys", idsOf(made, /key_\w+/)],
        ["/invitations?", "invitations", idsOf(invited, /inv_\w+/)]
      ] as const) {
        const seen: Array<string> = []
        for (let cursor = ""; seen.length < 3; ) {
          const { json } = yield* ask("GET", `${path}limit=1${cursor}`)
          assert.lengthOf(json[list], 1, list)
          seen.push(json[list][0].id)
          cursor = `&cursor=${json.nextCursor}`
        }
        assert.deepStrictEqual(seen, ids)
        const { status } = yield* ask("GET", `${path}limit=1&cursor=other`)
        assert.strictEqual(status, 400)
      }
    })
  )
})
