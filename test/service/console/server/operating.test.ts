/** The operator's page does what the command line does, in the same words, and each act is in the account's audit log. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { atoll, documentOf, withinMs } from "../../../support/commandLine.ts"
import { Browser, registered } from "../../../support/console/server/Browser.ts"
import { newAccountOf, operatorBrowser } from "../../../support/console/server/operatorBrowser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const newAccount = () => newAccountOf(`account ${randomUUID()}`)

layer(TestApi.layer(), { excludeTestServices: true })("the operator's page", (it) => {
  it.effect(
    "creates an account, gives it credit and limits, suspends and resumes it; the command line sees the same",
    () =>
      Effect.gen(function* () {
        const { ask, act } = yield* operatorBrowser
        const asked = newAccount()
        const id = (yield* act("/accounts", asked)).said
        assert.match(id, /^acc_/)
        const at = `/accounts/${id}`
        const credit = { usd: "7.5", kind: "purchase", expiresAt: null, description: null }
        assert.match(
          (yield* act(`${at}/credit`, credit)).said,
          new RegExp(`^grt_\\S+: 7\\.50 USD \\(purchase\\), which never expires\\. ${asked.name} has 20\\.00 USD\\.$`)
        )
        yield* act(`${at}/limits`, { sandboxes: "3", workspaces: "setting", workspaceStorageBytes: "setting" })
        assert.strictEqual(
          (yield* act(`${at}/suspend`)).said,
          `${asked.name} is suspended: each of its keys is refused from now on. The service stops its Sandboxes and keeps their volumes.`
        )
        const shown = yield* documentOf("accounts", "show", asked.name, "--json")
        assert.deepInclude(shown.account, { id, billing: "prepaid" })
        assert.strictEqual(shown.account.ownLimits.sandboxes, 3)
        assert.isNotNull(shown.account.suspendedAt)
        assert.strictEqual(shown.balance.microUsd, 20_000_000)
        yield* act(`${at}/resume`)

        const listed = (yield* ask("GET", `/accounts?find=${encodeURIComponent(asked.name)}`)).json.accounts[0]
        assert.deepInclude(listed, { id, name: asked.name, suspendedAt: null, sandboxes: {}, burnMicroUsdPerHour: 0 })
        assert.strictEqual(listed.limits.sandboxes, 3)
        const money = (yield* ask("GET", `${at}/money`)).json
        assert.strictEqual(money.microUsd, 20_000_000)
        const acts = (money.acts as ReadonlyArray<{ action: string; by: string }>).map(
          ({ action, by }) => `${action} ${by}`
        )
        const api = "/console/api/operator"
        assert.sameMembers(acts, [
          `createAccount ${api}/accounts`,
          `grantCredit ${api}/accounts`,
          `grantCredit ${api}${at}/credit`,
          `setAccountLimits ${api}${at}/limits`,
          `suspendAccount ${api}${at}/suspend`,
          `resumeAccount ${api}${at}/resume`
        ])
      }),
    withinMs
  )

  it.effect(
    "invites a person, who registers, and lets one in who lost the passphrase; links are given once",
    () =>
      Effect.gen(function* () {
        const { ask, act, port } = yield* operatorBrowser
        const invited = yield* act("/invitations", { email: null, expiresDays: "2", creditUsd: "3" })
        assert.match(invited.said, /^made the invitation inv_\S+; its link makes one account, until /)
        const [, code] = /#invitation=([\w-]{43})$/.exec(invited.link!)!
        const person = {
          email: `${randomUUID()}@example.org`,
          accountName: randomUUID(),
          passphrase: "a long passphrase"
        }
        const entered = yield* Effect.promise(() => new Browser(port).console("POST", "/register", { code, ...person }))
        assert.strictEqual(entered.status, 201, entered.text)
        const { invitations } = (yield* ask("GET", "/invitations")).json
        const used = invitations.find(({ id }: { id: string }) => invited.said.includes(id))
        assert.strictEqual(used.status, "used")
        assert.notInclude(JSON.stringify(invitations), code!)

        const recovered = yield* act(`/accounts/${used.accountId}/recover`)
        const [, link] = /#link=([\w-]{43})$/.exec(recovered.link!)!
        const back = yield* Effect.promise(() => new Browser(port).console("POST", "/sign-in-link", { code: link }))
        assert.strictEqual(back.json.session.account.name, person.accountName, back.text)

        const other = yield* act("/invitations", { email: null, expiresDays: "1", creditUsd: "0" })
        const [id] = /inv_\w+/.exec(other.said)!
        assert.strictEqual((yield* act(`/invitations/${id}/revoke`)).said, `${id} is revoked.`)
      }),
    withinMs
  )

  it.effect(
    "sets rates, and refuses what the command line refuses, in the same words",
    () =>
      Effect.gen(function* () {
        const { ask, act, refused } = yield* operatorBrowser
        const later = new Date(Date.now() + 86_400_000).toISOString()
        const rates = {
          vcpuSecond: "15000",
          memoryGibSecond: "5000",
          volumeGibSecond: "30",
          snapshotGibSecond: null,
          effectiveAt: later
        }
        yield* act("/rates", rates)
        const { rates: cards } = (yield* ask("GET", "/rates")).json
        assert.deepInclude(cards.at(-1), { effectiveAt: later, vcpuSecondNanoUsd: 15_000 })
        yield* refused(
          "/accounts",
          { ...newAccount(), billing: "unlimited" },
          "--credit-usd is for prepaid accounts: add --billing prepaid."
        )
        yield* refused(
          "/accounts",
          { ...newAccount(), creditUsd: "1.2345678" },
          '--credit-usd takes dollars as a decimal with at most 6 places, such as 12.50, and not "1.2345678".'
        )
        yield* refused(
          "/accounts/acc_none/suspend",
          undefined,
          'There is no account named "acc_none". atoll accounts list shows them.'
        )
        yield* refused(
          "/rates",
          { ...rates, effectiveAt: "2020-01-01T00:00:00Z" },
          "--effective-at is past: 2020-01-01T00:00:00.000Z."
        )
      }),
    withinMs
  )

  it.effect(
    "does nothing that its audit log does not have: both are one commit",
    () =>
      Effect.gen(function* () {
        const { ask, act } = yield* operatorBrowser
        const sql = yield* SqlClient.SqlClient
        const asked = newAccount()
        const at = `/accounts/${(yield* act("/accounts", asked)).said}`
        const all = Effect.map(
          sql<{ readonly all: string }>`
            select jsonb_build_array((select jsonb_agg(a order by id) from accounts a), (select jsonb_agg(g.id order by g.id) from grants g),
              (select jsonb_agg(k.id order by k.id) from api_keys k)) #>> '{}' as all`,
          ([row]) => row!.all
        )
        const before = yield* all
        yield* sql`alter table audit_events add constraint unwritable check (source <> 'operator') not valid`
        yield* Effect.gen(function* () {
          const credit = { usd: "7.5", kind: "purchase", expiresAt: null, description: null }
          const limits = { sandboxes: "3", workspaces: "setting", workspaceStorageBytes: "setting" }
          for (const [path, body] of [
            ["/accounts", newAccount()],
            [`${at}/credit`, credit],
            [`${at}/limits`, limits],
            [`${at}/suspend`, {}]
          ] as const)
            assert.strictEqual((yield* ask("POST", path, body)).status, 500, path)
          assert.notStrictEqual((yield* atoll("keys", "create", "--account", asked.name, "--scopes", "all")).code, 0)
        }).pipe(Effect.ensuring(Effect.orDie(sql`alter table audit_events drop constraint unwritable`)))
        assert.strictEqual(yield* all, before)
        yield* act(`${at}/suspend`)
        assert.notStrictEqual(yield* all, before)
      }),
    withinMs
  )

  it.effect("is nothing that an account's session opens", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser } = yield* registered(port)
      for (const path of ["/accounts", "/keys", "/invitations", "/rates", "/audit", "/backups"]) {
        const answer = yield* Effect.promise(() => browser.console("GET", `/operator${path}`))
        assert.strictEqual(answer.status, 401, path)
      }
      for (const [path, body] of [
        ["/accounts", newAccount()],
        ["/keys", { account: "default", name: "one", scopes: "all", expiresAt: null }],
        ["/keys/key_any/revoke", undefined],
        ["/usage/verify", { account: null }],
        ["/backups", undefined]
      ] as const) {
        const refused = yield* Effect.promise(() => browser.console("POST", `/operator${path}`, body))
        assert.strictEqual(refused.status, 401, path)
      }
    })
  )
})
