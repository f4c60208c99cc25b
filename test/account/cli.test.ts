/** The operator's command line, as its own process on the service's database. */
import { execFile } from "node:child_process"
import { resolve } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ApiKeys } from "../../src/account/ApiKeys.ts"
import { Authentication } from "../../src/account/Authentication.ts"
import { KeyUse } from "../../src/account/KeyUse.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/** Each call starts a Node of its own, which takes a second on a machine that is not busy. */
const withinMs = 120_000

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const atoll = (...args: ReadonlyArray<string>) =>
  Effect.flatMap(TestDatabase, ({ url }) =>
    Effect.promise(
      () =>
        new Promise<Ended>((done) => {
          const child = execFile(
            process.execPath,
            [resolve("src/cli/main.ts"), ...args],
            { env: { PATH: process.env["PATH"], DATABASE_URL: url } },
            (_, stdout, stderr) => done({ code: child.exitCode ?? -1, stdout, stderr })
          )
        })
    )
  )

const services = Layer.mergeAll(ApiKeys.layer, Authentication.layer).pipe(
  Layer.provideMerge(KeyUse.layer),
  Layer.provideMerge(TestDatabase.layer)
)

layer(services, { excludeTestServices: true })("the command line", (it) => {
  it.effect(
    "creates a key whose secret is all it prints, and which the service accepts; revoked, the service refuses it at once",
    () =>
      Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const made = yield* atoll("keys", "create", "--account", "acme", "--scopes", "sandbox:read,workspace:create")
        assert.deepStrictEqual([made.code, made.stderr], [0, ""])
        assert.match(made.stdout, /^atoll_live_[0-9A-Za-z]{43}\n$/)
        const secret = made.stdout.trim()
        const credential = yield* authenticate(secret)
        assert.deepStrictEqual([...credential.scopes], ["sandbox:read", "workspace:create"])

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
        assert.match(stdout, /other +ops@example\.com/)
      }),
    withinMs
  )

  it.effect(
    "shows its help on stdout when it was asked for, else beside the error on stderr: stdout holds answers only",
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
        assert.deepStrictEqual([wrong.code, wrong.stdout], [1, ""])
        assert.include(wrong.stderr, "Missing required flag: --scopes")
        assert.deepStrictEqual([name.code, name.stdout], [1, ""])
        assert.include(name.stderr, "Expected text without control characters")
      }),
    withinMs
  )

  it.effect(
    "says what is wrong in one sentence, on stderr, with exit code 1",
    () =>
      Effect.gen(function* () {
        const wrong = [
          [
            ["keys", "create", "--account", "x", "--scopes", "sandbox:reed"],
            /^atoll: There is no scope "sandbox:reed"\. Scopes: /
          ],
          [["keys", "revoke", "key_nothing"], /^atoll: There is no API key "key_nothing"\./],
          [["keys", "list", "--account", "nobody"], /^atoll: There is no account named "nobody"\./]
        ] as const
        const all = yield* Effect.all(
          wrong.map(([args]) => atoll(...args)),
          { concurrency: 2 }
        )
        for (const [at, [, sentence]] of wrong.entries()) {
          const ended = all[at]!
          assert.deepStrictEqual([ended.code, ended.stdout], [1, ""], ended.stderr)
          assert.match(ended.stderr, sentence)
          assert.strictEqual(ended.stderr.trimEnd().split("\n").length, 1)
        }
      }),
    withinMs
  )
})
