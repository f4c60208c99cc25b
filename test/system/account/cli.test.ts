/** The operator's command line, as a separate process on the service's database. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "../../../src/account/ApiKeys.ts"
import { Authentication } from "../../../src/account/Authentication.ts"
import { KeyUse } from "../../../src/account/KeyUse.ts"
import { atoll, documentOf, withinMs } from "../../support/commandLine.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const services = Layer.mergeAll(ApiKeys.layer, Authentication.layer).pipe(
  Layer.provideMerge(KeyUse.layer),
  Layer.provideMerge(TestDatabase.layer)
)

layer(services, { excludeTestServices: true })("the command line", (it) => {
  it.effect(
    "creates a key and prints only its secret, which the service accepts until the key is revoked",
    () =>
      Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const made = yield* atoll("keys", "create", "--account", "acme", "--scopes", "sandbox:read,workspace:create")
        assert.strictEqual(made.code, 0)
        assert.match(
          made.stderr,
          /^atoll: made the account "acme" \(acc_[0-9a-z]{26}\), unlimited\natoll: made the key key_[0-9a-z]{26}; .*\n$/
        )
        assert.match(made.stdout, /^atoll_live_[0-9A-Za-z]{43}\n$/)
        const secret = made.stdout.trim()
        const credential = yield* authenticate(secret)
        assert.deepStrictEqual([...credential.scopes], ["sandbox:read", "workspace:create"])
        assert.include(made.stderr, credential.apiKeyId)

        const listed = yield* atoll("keys", "list", "--account", "acme")
        assert.include(listed.stdout, credential.apiKeyId)
        assert.include(listed.stdout, `…${secret.slice(-4)}`)
        assert.include(listed.stdout, "Development")
        assert.notInclude(listed.stdout, secret.slice(11, -4))

        const revoked = yield* atoll("keys", "revoke", credential.apiKeyId)
        assert.strictEqual(revoked.code, 0)
        assert.strictEqual((yield* Effect.flip(authenticate(secret)))._tag, "UNAUTHENTICATED")
      }),
    withinMs
  )

  it.effect(
    "keys of one account name share the account; accounts are listed and made once",
    () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const [one, two] = yield* Effect.all(
          ["first", "second"].map((name) =>
            atoll("keys", "create", "--account", "two keys", "--scopes", "all", "--name", name)
          ),
          { concurrency: 2 }
        )
        assert.deepStrictEqual([one!.code, two!.code], [0, 0], one!.stderr + two!.stderr)
        const mine = (yield* keys.list(null)).filter(({ name }) => name === "first" || name === "second")
        assert.strictEqual(new Set(mine.map(({ accountId }) => accountId)).size, 1)
        assert.strictEqual(mine[0]!.scopes.length, 6)

        const created = yield* atoll("accounts", "create", "other", "--email", "ops@example.com")
        assert.match(created.stdout, /^acc_[0-9a-z]{26}\n$/)
        const again = yield* atoll("accounts", "create", "other")
        assert.deepStrictEqual([again.code, again.stdout], [1, ""])
        assert.match(again.stderr, /^atoll: There is already an account named "other"\.\n$/)
        const { stdout } = yield* atoll("accounts", "list")
        assert.match(stdout, /two keys/)
        assert.match(stdout, /other +ops@example\.com +unlimited/)
      }),
    withinMs
  )

  it.effect(
    "prints its help on stdout when it is asked for, else beside the error on stderr: stdout holds answers only",
    () =>
      Effect.gen(function* () {
        const [asked, wrong, name] = yield* Effect.all(
          [
            atoll("keys", "create", "--help"),
            atoll("keys", "create", "--account", "x"),
            atoll("accounts", "create", "two\nlines")
          ],
          { concurrency: 2 }
        )
        assert.deepStrictEqual([asked.code, asked.stderr], [0, ""])
        assert.include(asked.stdout, "--scopes")
        assert.deepStrictEqual([wrong.code, wrong.stdout], [2, ""])
        assert.include(wrong.stderr, "Missing required flag: --scopes")
        assert.deepStrictEqual([name.code, name.stdout], [2, ""])
        assert.include(name.stderr, "Expected text without invisible characters, and without a space at its ends")
      }),
    withinMs
  )

  it.effect(
    "makes keys that expire, shows their expiry, and the service refuses them from then on",
    () =>
      Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const create = ["keys", "create", "--account", "fleeting", "--scopes", "all", "--json"]
        const until = Date.now() + 5000
        const made = yield* atoll(...create, "--expires-at", new Date(until).toISOString())
        const { account, key, secret } = JSON.parse(made.stdout)
        assert.deepInclude(account, { name: "fleeting", isNew: true })
        assert.deepInclude(key, { accountId: account.id, expiresAt: new Date(until).toISOString(), revokedAt: null })
        assert.strictEqual(key.hint, secret.slice(-4))
        if (Date.now() < until) assert.strictEqual((yield* authenticate(secret)).apiKeyId, key.id)
        while (Date.now() < until) yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
        assert.match((yield* Effect.flip(authenticate(secret))).message, /expired/)
        const [prose, json] = yield* Effect.all(
          [atoll("keys", "list", "--account", account.id), atoll("keys", "list", "--account", "fleeting", "--json")],
          { concurrency: 2 }
        )
        assert.match(prose.stdout, /Z \(expired\)/)
        assert.deepStrictEqual(JSON.parse(json.stdout), { keys: [key] })
        assert.notInclude(prose.stdout + json.stdout, secret.slice(11, -4))
      }),
    withinMs
  )

  it.effect(
    "suspends and resumes an account for the running service, by name or id, and sets its limits",
    () =>
      Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const sql = yield* SqlClient.SqlClient
        const secret = (yield* atoll("keys", "create", "--account", "wild one", "--scopes", "all")).stdout.trim()
        const isSuspended = Effect.map(authenticate(secret), (credential) => credential.isSuspended)
        assert.isFalse(yield* isSuspended)
        const suspended = yield* documentOf("accounts", "suspend", "wild one", "--json")
        assert.isTrue(yield* isSuspended)
        const { id } = suspended.account
        const again = yield* documentOf("accounts", "suspend", id, "--json")
        assert.deepStrictEqual(again, suspended)
        assert.match(suspended.account.suspendedAt, /Z$/)
        const late = yield* atoll("keys", "create", "--account", "wild one", "--scopes", "all")
        assert.match(late.stderr, /the account is suspended/)
        const resumed = yield* atoll("accounts", "resume", "wild one")
        assert.deepStrictEqual([resumed.code, resumed.stderr], [0, ""])
        assert.isFalse(yield* isSuspended)

        const limits = ["accounts", "limits", "wild one"]
        const set = yield* documentOf(...limits, "--sandboxes", "3", "--workspace-storage-bytes", "0", "--json")
        assert.deepStrictEqual(set.account.ownLimits, { workspaces: null, sandboxes: 3, workspaceStorageBytes: 0 })
        assert.deepStrictEqual(set.account.limits, { workspaces: 10, sandboxes: 3, workspaceStorageBytes: 0 })
        const unset = yield* documentOf(...limits, "--sandboxes", "setting", "--workspaces", "2147483647", "--json")
        assert.deepStrictEqual(unset.account.ownLimits, {
          workspaces: 2147483647,
          sandboxes: null,
          workspaceStorageBytes: 0
        })
        assert.deepStrictEqual(yield* documentOf(...limits, "--json"), unset)
        const shown = yield* atoll("accounts", "show", id)
        assert.match(shown.stdout, /^Sandboxes +at most 20 \(the setting\)$/m)
        assert.match(shown.stdout, /^suspended +no$/m)

        const events = yield* sql<{ action: string; source: string }>`
          select action, source from audit_events where account_id = ${id} order by id`
        assert.deepStrictEqual(
          events.map(({ action, source }) => [action, source]),
          [
            "createAccount",
            "createKey",
            "suspendAccount",
            "suspendAccount",
            "createKey",
            "resumeAccount",
            "setAccountLimits",
            "setAccountLimits"
          ].map((action) => [action, "operator"])
        )
      }),
    withinMs
  )

  it.effect(
    "names a fault in one sentence on stderr: with exit code 1 if it refuses the call, with 2 if the call makes no sense",
    () =>
      Effect.gen(function* () {
        const key = ["keys", "create", "--account", "x", "--scopes"]
        const limits = ["accounts", "limits", "x"]
        const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
          [["keys", "revoke", "key_nothing"], 1, /There is no API key "key_nothing"\./],
          [["keys", "list", "--account", "unknown"], 1, /There is no account named "unknown"\./],
          [
            ["accounts", "show", "unknown"],
            1,
            /There is no account named "unknown"\. atoll accounts list shows them\./
          ],
          [["accounts", "suspend", "unknown", "--json"], 1, /There is no account named "unknown"\./],
          [["accounts", "create"], 2, /Give the account one name/],
          [["accounts", "create", "x", "--name", "x"], 2, /Give the account one name/],
          [[...key, "sandbox:reed"], 2, /There is no scope "sandbox:reed"\. Scopes: /],
          [[...key, "all", "--expires-at", "2020-01-01T00:00:00Z"], 2, /--expires-at is past/],
          [[...key, "all", "--expires-at", "2027-02-30T00:00:00Z"], 2, /--expires-at takes an instant with a zone/],
          [[...key, "all", "--expires-at", "1800000000"], 2, /--expires-at takes an instant with a zone/],
          [[...limits, "--sandboxes", "1.5"], 2, /--sandboxes takes a whole number from 0 to 2147483647/],
          [[...limits, "--sandboxes", "-1"], 2, /--sandboxes takes a whole number/],
          [[...limits, "--workspaces", "2147483648"], 2, /--workspaces takes a whole number/],
          [[...limits, "--workspace-storage-bytes", "1e9"], 2, /--workspace-storage-bytes takes a whole number/]
        ]
        const all = yield* Effect.all(
          wrong.map(([args]) => atoll(...args)),
          { concurrency: 2 }
        )
        for (const [at, [args, code, sentence]] of wrong.entries()) {
          const ended = all[at]!
          assert.deepStrictEqual([ended.code, ended.stdout], [code, ""], `${args.join(" ")}: ${ended.stderr}`)
          assert.match(ended.stderr, /^atoll: /)
          assert.match(ended.stderr, sentence)
          assert.strictEqual(ended.stderr.trimEnd().split("\n").length, 1)
        }
        const accounts = (yield* documentOf("--json", "accounts", "list")).accounts as Array<{ name: string }>
        assert.notInclude(
          accounts.map(({ name }) => name),
          "x"
        )
      }),
    withinMs
  )
})
