/** The operator's page: one audit log over all accounts, and accounts by the page. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { OperatedAuditEvent } from "../../../../schemas/console/OperatedAudit.ts"
import type { OperatedAccount } from "../../../../schemas/console/Operating.ts"
import { atoll, withinMs } from "../../../support/commandLine.ts"
import { newAccountOf, operatorBrowser } from "../../../support/console/server/operatorBrowser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const query = (parameters: Readonly<Record<string, string>>) => `?${new URLSearchParams(parameters)}`

layer(TestApi.layer(), { excludeTestServices: true })("the operator's page", (it) => {
  it.effect(
    "has one audit log of all accounts and of what belongs to none, by account, action, way and time, a page at a time",
    () =>
      Effect.gen(function* () {
        const { newWorkspace, auditWritten, accountId } = yield* TestApi
        const { ask, act } = yield* operatorBrowser
        const from = new Date().toISOString()
        const name = `account ${randomUUID()}`
        const id = (yield* act("/accounts", newAccountOf(name))).said
        yield* Effect.promise(() => newWorkspace())
        const invited = yield* act("/invitations", { email: null, expiresDays: "1", creditUsd: "0" })
        const [invitation] = /inv_\w+/.exec(invited.said)!
        assert.strictEqual((yield* atoll("invitations", "revoke", invitation)).code, 0)
        yield* Effect.promise(auditWritten)

        const list = (parameters: Readonly<Record<string, string>> = {}) =>
          Effect.map(ask("GET", `/audit${query({ from, ...parameters })}`), ({ json, text }) => {
            assert.isArray(json.events, text)
            return json as { readonly events: ReadonlyArray<OperatedAuditEvent>; readonly nextCursor: string | null }
          })
        const shown = ({ action, source, account, targetId }: OperatedAuditEvent) =>
          `${source} ${action} ${account === null ? "-" : `${account.id} ${account.name}`} ${targetId?.slice(0, 4)}`
        const everything = (yield* list()).events.map(shown)
        assert.includeMembers(everything, [
          `operator createAccount ${id} ${name} acc_`,
          `operator grantCredit ${id} ${name} grt_`,
          `api createWorkspace ${accountId} default wsp_`,
          "operator invite - inv_",
          "operator revokeInvitation - inv_"
        ])
        assert.deepStrictEqual((yield* list({ account: name })).events.map(shown), [
          `operator grantCredit ${id} ${name} grt_`,
          `operator createAccount ${id} ${name} acc_`
        ])
        // Over a fleet, the wait for written events makes some in another account.
        const created = (yield* list({ action: "createWorkspace" })).events
        assert.deepStrictEqual([...new Set(created.map(({ action }) => action))], ["createWorkspace"])
        assert.deepStrictEqual((yield* list({ action: "createWorkspace", account: accountId })).events.map(shown), [
          `api createWorkspace ${accountId} default wsp_`
        ])
        const [revoked] = (yield* list({ action: "revokeInvitation", source: "operator" })).events
        assert.deepInclude(revoked!, { method: "CLI", path: "atoll invitations revoke", account: null })
        assert.lengthOf((yield* list({ to: from })).events, 0)

        const paged: Array<string> = []
        for (let cursor: string | null = null; ; ) {
          const page: { readonly events: ReadonlyArray<OperatedAuditEvent>; readonly nextCursor: string | null } =
            yield* list({ limit: "2", ...(cursor === null ? {} : { cursor }) })
          assert.isAtMost(page.events.length, 2)
          paged.push(...page.events.map(shown))
          cursor = page.nextCursor
          if (cursor === null) break
        }
        assert.deepStrictEqual(paged, everything)
        for (const parameters of [{ action: "makeTea" }, { cursor: "x" }, { account: "none" }]) {
          const { status } = yield* ask("GET", `/audit${query(parameters)}`)
          assert.strictEqual(status, 400, JSON.stringify(parameters))
        }
      }),
    withinMs
  )

  it.effect("shows thousands of accounts a page at a time, finds one by name, e-mail or id, and counts all", () =>
    Effect.gen(function* () {
      const { ask } = yield* operatorBrowser
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        insert into accounts (id, name, email, created_at, billing)
        select 'acc_many' || lpad(n::text, 5, '0'), 'Many ' || n, 'many-' || n || '@example.org', n, 'unlimited'
        from generate_series(1, 3000) n`
      const list = (parameters: Readonly<Record<string, string>>) =>
        Effect.map(ask("GET", `/accounts${query(parameters)}`), ({ json }) => json)
      const seen: Array<string> = []
      for (let cursor: string | null = null; ; ) {
        const page: {
          readonly accounts: ReadonlyArray<OperatedAccount>
          readonly matching: number
          readonly nextCursor: string | null
        } = yield* list({ find: "MANY ", limit: "100", ...(cursor === null ? {} : { cursor }) })
        assert.strictEqual(page.matching, 3000)
        seen.push(...page.accounts.map(({ id }) => id))
        cursor = page.nextCursor
        if (cursor === null) break
      }
      assert.strictEqual(new Set(seen).size, 3000)
      assert.deepStrictEqual(seen, seen.toSorted())
      for (const find of ["acc_many01234", "many 1234", "MANY-1234@"]) {
        const { accounts, matching } = yield* list({ find })
        assert.deepStrictEqual([matching, accounts[0].id], [1, "acc_many01234"], find)
      }
      const first = yield* list({})
      assert.lengthOf(first.accounts, 50)
      assert.isAtLeast((yield* ask("GET", "/accounts/sum")).json.accounts, 3000)
      assert.strictEqual((yield* ask("GET", "/accounts?limit=101")).status, 400)
    })
  )
})
