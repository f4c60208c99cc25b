/** What the operator's metrics say of money, and what they do not: no account. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Accounts } from "../../src/account/Accounts.ts"
import { Ledger } from "../../src/wallet/Ledger.ts"
import { TestApi } from "../http/TestApi.ts"

const service = Layer.merge(Accounts.layer, Ledger.layer).pipe(Layer.provideMerge(TestApi.layer()))

layer(service, { excludeTestServices: true })("metrics", (it) => {
  it.effect("show burn, what was posted and how late, and who has nothing left", () =>
    Effect.gen(function* () {
      const { send, newWorkspace, accountId } = yield* TestApi
      const ledger = yield* Ledger
      const { id: payer } = yield* (yield* Accounts).create({ name: randomUUID(), email: null, billing: "prepaid" })
      yield* ledger.settle(payer)
      const workspaceId = yield* Effect.promise(() => newWorkspace())
      const made = yield* Effect.promise(() =>
        send("POST", "/api/v2/sandboxes", {
          body: { workspaceId },
          headers: { "idempotency-key": randomUUID() }
        })
      )
      assert.strictEqual(made.status, 202, made.text)
      const path = `/api/v2/sandboxes/${made.json.sandbox.id}/execute`
      const ran = yield* Effect.promise(() => send("POST", path, { body: { argv: ["true"] } }))
      assert.strictEqual(ran.status, 200, ran.text)
      yield* ledger.foldSandbox(made.json.sandbox.id)
      yield* Effect.sleep("300 millis")
      const { burnMicroUsdPerHour, balanceMicroUsd } = yield* ledger.settle(accountId)
      const { text } = yield* Effect.promise(() => send("GET", "/metrics", { key: null }))
      const metric = (name: string) => {
        const line = text.split("\n").find((one) => one.startsWith(`${name} `))
        assert.isDefined(line, `${name} in ${text}`)
        return Number(line.slice(name.length))
      }
      assert.isTrue(burnMicroUsdPerHour > 0n)
      assert.strictEqual(metric('atoll_burn_micro_usd_per_hour{billing="unlimited"}'), Number(burnMicroUsdPerHour))
      assert.strictEqual(metric('atoll_burn_micro_usd_per_hour{billing="prepaid"}'), 0)
      assert.strictEqual(metric("atoll_accounts_exhausted"), 1)
      assert.isBelow(metric("atoll_postings_overdue_seconds"), 60)
      assert.strictEqual(metric('atoll_usage_micro_usd_total{billing="unlimited"}'), Number(-balanceMicroUsd))
      assert.isAtLeast(metric('atoll_postings_total{billing="unlimited"}'), 2)
      assert.strictEqual(metric("atoll_posting_lag_seconds_count"), 1)
      assert.isBelow(metric("atoll_posting_lag_seconds_sum"), 60)
      for (const id of [payer, accountId]) assert.notInclude(text, id)
    })
  )
})
