/** Money on the operator's command line: exact amounts, credit, rates, and their effect in the running service. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Authentication } from "../../../src/account/Authentication.ts"
import { KeyUse } from "../../../src/account/KeyUse.ts"
import { atoll, documentOf, withinMs } from "../../support/commandLine.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const services = Authentication.layer.pipe(Layer.provideMerge(KeyUse.layer), Layer.provideMerge(TestDatabase.layer))

layer(services, { excludeTestServices: true })("credit on the command line", (it) => {
  it.effect(
    "is nothing for a prepaid account before a grant, and takes effect immediately, to the millionth of a dollar",
    () =>
      Effect.gen(function* () {
        const { authenticate } = yield* Authentication
        const { account } = yield* documentOf("accounts", "create", "--name", "payer", "--billing", "prepaid", "--json")
        assert.strictEqual(account.billing, "prepaid")
        const secret = (yield* atoll("keys", "create", "--account", "payer", "--scopes", "all")).stdout.trim()
        const exhaustedAt = Effect.map(authenticate(secret), (credential) => credential.exhaustedAt)
        assert.isAtMost((yield* exhaustedAt)!, Date.now())
        const before = (yield* documentOf("credit", "balance", "--account", "payer", "--json")).balance
        assert.deepInclude(before, { currency: "USD", microUsd: 0, status: "exhausted", grants: [] })

        const until = "2100-01-31T12:00:00.000Z"
        const grant = ["credit", "grant", "--account", "payer", "--usd"]
        const given = yield* documentOf(...grant, "12.5", "--expires-at", until, "--json")
        assert.deepInclude(given.grant, {
          kind: "purchase",
          grantedMicroUsd: 12_500_000,
          remainingMicroUsd: 12_500_000,
          expiredMicroUsd: 0,
          expiresAt: until,
          status: "active"
        })
        assert.match(given.grant.id, /^grt_[0-9a-z]{26}$/)
        assert.strictEqual(yield* exhaustedAt, Date.parse(until))
        const prose = yield* atoll(...grant, "0.000001", "--kind", "promotional", "--description", "A gift")
        assert.match(
          prose.stdout,
          /^grt_[0-9a-z]{26}: 0\.000001 USD \(promotional\), which never expires\. payer has 12\.500001 USD\.\n$/
        )
        assert.isNull(yield* exhaustedAt)
        const { balance } = yield* documentOf("credit", "balance", "--account", account.id, "--json")
        assert.deepInclude(balance, {
          microUsd: 12_500_001,
          status: "funded",
          burnMicroUsdPerHour: 0,
          exhaustsAt: null
        })
        assert.deepStrictEqual(
          balance.grants.map((made: { description: string }) => made.description),
          ["Credit", "A gift"]
        )
        assert.match((yield* atoll("accounts", "show", "payer")).stdout, /^balance +12\.500001 USD, funded$/m)

        const sql = yield* SqlClient.SqlClient
        const events = yield* sql<{ action: string; target_id: string }>`
          select action, target_id from audit_events where account_id = ${account.id} and action = 'grantCredit' order by id`
        assert.deepStrictEqual(
          events.map((event) => event.target_id),
          balance.grants.map((made: { id: string }) => made.id)
        )
      }),
    withinMs
  )

  it.effect(
    "is granted with a new prepaid account on request, or neither is made",
    () =>
      Effect.gen(function* () {
        const create = ["accounts", "create", "--billing", "prepaid", "--name"]
        const { account } = yield* documentOf(...create, "starter", "--credit-usd", "3.20", "--json")
        const { balance } = yield* documentOf("credit", "balance", "--account", "starter", "--json")
        assert.deepInclude(balance, { microUsd: 3_200_000, status: "funded" })
        assert.deepInclude(balance.grants[0], { kind: "promotional", expiresAt: null })
        assert.match(account.id, /^acc_/)
        const nothing = yield* atoll(...create, "nothing", "--credit-usd", "0")
        assert.deepStrictEqual([nothing.code, nothing.stdout], [1, ""])
        assert.strictEqual((yield* atoll("accounts", "show", "nothing")).code, 1)
      }),
    withinMs
  )

  it.effect(
    "takes amounts exactly as they are written, or says how to write them",
    () =>
      Effect.gen(function* () {
        yield* atoll("accounts", "create", "exact", "--billing", "prepaid")
        const grant = ["credit", "grant", "--account", "exact", "--usd"]
        const written = ["1e3", "1.0000001", "-5", "", "12345678901"]
        const refused = yield* Effect.forEach(written, (amount) => atoll(...grant, amount), { concurrency: 2 })
        for (const [at, { code, stdout, stderr }] of refused.entries()) {
          assert.deepStrictEqual([code, stdout], [2, ""], written[at]!)
          assert.match(
            stderr,
            /^atoll: --usd takes dollars as a decimal with at most 6 places, such as 12\.50, and not /
          )
        }
        const negative = yield* atoll(...grant.slice(0, -1), "--usd=-5", "--kind", "adjustment")
        assert.strictEqual(negative.code, 2)
        const zero = yield* atoll(...grant, "0.000000")
        assert.deepStrictEqual([zero.code, zero.stdout], [1, ""])
        const kind = yield* atoll(...grant, "1", "--kind", "present")
        assert.deepStrictEqual([kind.code, kind.stdout], [2, ""])
        const missing = yield* atoll("credit", "grant", "--account", "unknown", "--usd", "1")
        assert.deepStrictEqual([missing.code, missing.stdout], [1, ""])
        assert.match(missing.stderr, /^atoll: There is no account named "unknown"\./)
        const unlimited = yield* atoll("accounts", "create", "free", "--credit-usd", "1")
        assert.deepStrictEqual([unlimited.code, unlimited.stdout], [2, ""])
        // 0.1 + 0.2 in floating point is not 0.3.
        for (const amount of ["0.1", "0.2", "999999999.999999"]) yield* documentOf(...grant, amount, "--json")
        const { balance } = yield* documentOf("credit", "balance", "--account", "exact", "--json")
        assert.strictEqual(balance.microUsd, 1_000_000_000_299_999)
        assert.match(
          (yield* atoll("credit", "balance", "--account", "exact")).stdout,
          /^balance +1000000000\.299999 USD/m
        )
      }),
    withinMs
  )

  it.effect(
    "is priced by rate cards: the default one, and later ones in order of their instants",
    () =>
      Effect.gen(function* () {
        const initial = yield* documentOf("rates", "list", "--json")
        assert.deepStrictEqual(initial.rates, [
          {
            effectiveAt: "1970-01-01T00:00:00.000Z",
            vcpuSecondNanoUsd: 14000,
            memoryGibSecondNanoUsd: 4500,
            volumeGibSecondNanoUsd: 30,
            snapshotGibSecondNanoUsd: 30,
            createdAt: "1970-01-01T00:00:00.000Z"
          }
        ])
        // As in docs/accounts-and-credit.md.
        assert.match((yield* atoll("rates", "list")).stdout, /the beginning .* 0\.058932 USD +0\.000432 USD/)
        const set = ["rates", "set", "--vcpu-second", "20000", "--memory-gib-second", "0", "--volume-gib-second"]
        const effectiveAt = "2100-01-01T00:00:00.000Z"
        const later = yield* documentOf(...set, "31", "--effective-at", effectiveAt, "--json")
        assert.deepInclude(later.rates, { effectiveAt, vcpuSecondNanoUsd: 20000, memoryGibSecondNanoUsd: 0 })
        const now = yield* documentOf(...set, "1000000000000", "--json")
        assert.isAtMost(Math.abs(Date.parse(now.rates.effectiveAt) - Date.now()), 60_000)
        const { rates } = yield* documentOf("rates", "list", "--json")
        assert.deepStrictEqual(rates.slice(1), [now.rates, later.rates])

        const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
          [[...set, "1.5"], 2, /--volume-gib-second takes a whole number from 0 to 1000000000000/],
          [[...set, "-1"], 2, /--volume-gib-second takes a whole number/],
          [[...set, "1000000000001"], 2, /--volume-gib-second takes a whole number/],
          [[...set, "1", "--effective-at", "2020-01-01T00:00:00Z"], 2, /--effective-at is past/],
          [[...set, "1", "--effective-at", effectiveAt], 1, /There are rates already/],
          [set.slice(0, -1), 2, /Missing required flag: --volume-gib-second/]
        ]
        const ended = yield* Effect.forEach(wrong, ([args]) => atoll(...args), { concurrency: 2 })
        for (const [at, [args, code, sentence]] of wrong.entries()) {
          assert.deepStrictEqual([ended[at]!.code, ended[at]!.stdout], [code, ""], args.join(" "))
          assert.match(ended[at]!.stderr, sentence)
        }
        assert.strictEqual((yield* documentOf("rates", "list", "--json")).rates.length, 3)
      }),
    withinMs
  )
})
