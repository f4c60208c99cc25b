/** The operator's side: links that are printed once, and lead in once. */
import { execFile } from "node:child_process"
import { readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { writeCredentials } from "../../../../src/platform/dataFolder/Credentials.ts"
import { atoll, atollWith, documentOf, withinMs } from "../../../support/commandLine.ts"
import { compiledOnce } from "../../../support/compiledOnce.ts"
import { Browser, newPerson } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"

const fragment = (link: string, kind: string) => {
  const [, code] = new RegExp(`^http://127\\.0\\.0\\.1:8080/console/#${kind}=([\\w-]{43})$`).exec(link) ?? []
  assert.isString(code, link)
  return code!
}

layer(TestApi.layer(), { excludeTestServices: true })("links from the command line", (it) => {
  it.effect(
    "invite: once, with the credit that they say, and can be listed and revoked",
    () =>
      Effect.gen(function* () {
        const { port } = yield* TestApi
        const printed = yield* atoll("invitations", "create", "--credit-usd", "12.5", "--expires-days", "2")
        assert.strictEqual(printed.code, 0, printed.stderr)
        const code = fragment(printed.stdout.trim(), "invitation")
        assert.match(printed.stderr, /^atoll: made the invitation inv_[0-9a-z]{26}; /)
        assert.notInclude(printed.stderr, code)
        const offered = yield* Effect.promise(() => new Browser(port).console("POST", "/invitation", { code }))
        assert.strictEqual(offered.json.invitation.creditMicroUsd, 12_500_000)
        assert.approximately(Date.parse(offered.json.invitation.expiresAt), Date.now() + 2 * 86_400_000, 60_000)
        const person = newPerson()
        const made = yield* Effect.promise(() => new Browser(port).console("POST", "/register", { code, ...person }))
        const { balance } = yield* documentOf("credit", "balance", "--account", person.accountName, "--json")
        assert.strictEqual(balance.microUsd, 12_500_000)

        const open = yield* atoll("invitations", "create", "--email", "a@example.org", "--json")
        const { invitation } = JSON.parse(open.stdout)
        assert.deepInclude(invitation, { status: "open", email: "a@example.org", creditMicroUsd: 10_000_000 })
        const { invitation: revoked } = yield* documentOf("invitations", "revoke", invitation.id, "--json")
        assert.strictEqual(revoked.status, "revoked")
        const { invitations } = yield* documentOf("invitations", "list", "--json")
        assert.deepStrictEqual(
          invitations.map(({ status, accountId }: Record<string, unknown>) => [status, accountId]),
          [
            ["used", made.json.session.account.id],
            ["revoked", null]
          ]
        )
        assert.notInclude(JSON.stringify(invitations), code)
        const late = yield* atoll("invitations", "revoke", invitations[0].id)
        assert.deepStrictEqual([late.code, late.stdout], [1, ""])
        assert.include(late.stderr, "was used")
        for (const [words, exit] of [
          [["revoke", "inv_nothing"], 1],
          [["create", "--credit-usd", "99999999999"], 2],
          [["create", "--email", "nobody"], 2]
        ] as const) {
          const refused = yield* atoll("invitations", ...words)
          assert.deepStrictEqual([refused.code, refused.stdout], [exit, ""], words.join(" "))
        }
      }),
    withinMs
  )

  it.effect(
    "recover an account: once, and stand in its audit log",
    () =>
      Effect.gen(function* () {
        const { port, accountId, send } = yield* TestApi
        const printed = yield* atoll("accounts", "recover", accountId)
        assert.strictEqual(printed.code, 0, printed.stderr)
        const code = fragment(printed.stdout.trim(), "link")
        const enter = () => Effect.promise(() => new Browser(port).console("POST", "/sign-in-link", { code }))
        const first = yield* enter()
        assert.deepStrictEqual([first.status, first.json.session?.account.id], [200, accountId])
        assert.strictEqual((yield* enter()).status, 401)
        const sql = yield* SqlClient.SqlClient
        const late = JSON.parse((yield* atoll("accounts", "recover", accountId, "--json")).stdout)
        assert.deepInclude(late.account, { id: accountId })
        yield* sql`update sign_in_links set expires_at = ${BigInt(Date.now())} where used_at is null`
        const past = yield* Effect.promise(() =>
          new Browser(port).console("POST", "/sign-in-link", { code: fragment(late.link, "link") })
        )
        assert.strictEqual(past.status, 401)
        const { events } = (yield* Effect.promise(() => send("GET", "/api/v2/usage/audit?action=recoverAccount"))).json
        assert.deepInclude(events.at(-1), { source: "operator", status: 201, path: "atoll accounts recover" })
        assert.notInclude(JSON.stringify(events), code)
        assert.strictEqual((yield* atoll("accounts", "recover", "nobody")).code, 1)
      }),
    withinMs
  )

  it.effect(
    "lead to where `npm run up` last served the data folder, unless a setting says another address",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const folder = yield* testFolder
        yield* Effect.promise(() => writeCredentials(folder, { url: "http://127.0.0.1:4711", apiKey: "a key" }))
        const linkWith = (more: Readonly<Record<string, string>>) =>
          Effect.map(
            atollWith({ DATABASE_URL: url, ATOLL_DATA_DIR: folder, ...more }, "operator", "link"),
            ({ stdout }) => new URL(stdout.trim()).origin
          )
        assert.strictEqual(yield* linkWith({}), "http://127.0.0.1:4711")
        assert.strictEqual(yield* linkWith({ ATOLL_PORT: "4712" }), "http://127.0.0.1:4712")
        assert.strictEqual(yield* linkWith({ ATOLL_PUBLIC_URL: "https://atoll.example" }), "https://atoll.example")
        assert.strictEqual(yield* linkWith({ ATOLL_DATA_DIR: join(folder, "none") }), "http://127.0.0.1:8080")
      }),
    withinMs
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("a first access", (it) => {
  it.effect(
    "is a key and a link of a fresh database, and no more of either once there were some",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const sql = yield* SqlClient.SqlClient
        const dataDir = yield* testFolder
        const address = "http://127.0.0.1:8080"
        const asked = Effect.promise(async () => {
          const { stdout } = await promisify(execFile)(process.execPath, ["scripts/first-access.ts", address], {
            env: { PATH: process.env["PATH"], ...compiledOnce, DATABASE_URL: url, ATOLL_DATA_DIR: dataDir }
          })
          return JSON.parse(stdout)
        })
        const stored = join(dataDir, "credentials.json")
        const first = yield* asked
        assert.match(first.secret, /^atoll_live_/)
        assert.match(first.code, /^[\w-]{43}$/)
        assert.deepStrictEqual(JSON.parse(readFileSync(stored, "utf8")), { url: address, apiKey: first.secret })
        assert.strictEqual(statSync(stored).mode & 0o777, 0o600)
        assert.deepStrictEqual(yield* asked, { secret: null, isLoggedIn: true, code: null })
        rmSync(stored)
        assert.deepStrictEqual(yield* asked, { secret: null, isLoggedIn: false, code: null })
        // As a folder that was made before there was a console.
        yield* sql`delete from sign_in_links`
        const later = yield* asked
        assert.isNull(later.secret)
        assert.match(later.code, /^[\w-]{43}$/)
        const [links] = yield* sql<{ name: string }>`
          select a.name from sign_in_links l join accounts a on a.id = l.account_id`
        assert.strictEqual(links!.name, "default")
      }),
    withinMs
  )
})
