/** Own process: it reads the metrics of the process. */
/** The operator's metrics of money, over all processes that post; they name no account. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Accounts } from "../../../src/account/Accounts.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { sampleOf } from "../../support/Scrape.ts"
import { untilSeen } from "../../support/until.ts"

const service = Accounts.layer.pipe(Layer.provideMerge(TestApi.layer()))

layer(service, { excludeTestServices: true })("metrics", (it) => {
  it.effect("show the burn, the postings and their delay, and the number of exhausted accounts", () =>
    Effect.gen(function* () {
      const { send, newWorkspace, newSandbox, accountId, scrapes } = yield* TestApi
      const { id: payer } = yield* (yield* Accounts).create({ name: randomUUID(), email: null, billing: "prepaid" })
      yield* Effect.promise(async () => {
        const texts = async (): Promise<ReadonlyArray<string>> => {
          const found = await scrapes()
          for (const text of found) for (const id of [payer, accountId]) assert.notInclude(text, id)
          return found
        }
        /** Every process has the same gauges. */
        const gauge = async (series: string) => (await texts()).map((text) => sampleOf(text, series))
        const counted = async (series: string) =>
          (await texts()).reduce((sum, text) => sum + (sampleOf(text, series) ?? 0), 0)
        const balance = async (): Promise<{ readonly microUsd: number; readonly burnMicroUsdPerHour: number }> =>
          (await send("GET", "/api/v2/usage/balance")).json.balance

        const sandboxId = await newSandbox(await newWorkspace())
        const { burnMicroUsdPerHour } = await untilSeen(balance, (found) => found.burnMicroUsdPerHour > 0)
        await untilSeen(
          () => gauge('atoll_burn_micro_usd_per_hour{billing="unlimited"}'),
          (values) => values.every((value) => value === burnMicroUsdPerHour)
        )
        for (const value of await gauge('atoll_burn_micro_usd_per_hour{billing="prepaid"}'))
          assert.strictEqual(value, 0)
        for (const value of await gauge("atoll_accounts_exhausted")) assert.strictEqual(value, 1)
        for (const value of await gauge("atoll_postings_overdue_seconds")) assert.isBelow(value!, 60)

        await sleep(300)
        assert.strictEqual((await send("DELETE", `/api/v2/sandboxes/${sandboxId}`)).status, 204)
        // It ran, has stopped, and is deleted: each is posted once, by any process.
        await untilSeen(
          () => counted("atoll_posting_lag_seconds_count"),
          (count) => count >= 3
        )
        const { microUsd } = await untilSeen(balance, (found) => found.burnMicroUsdPerHour === 0)
        assert.isBelow(microUsd, 0)
        assert.strictEqual(await counted('atoll_usage_micro_usd_total{billing="unlimited"}'), -microUsd)
        assert.strictEqual(await counted("atoll_posting_lag_seconds_count"), 3)
        assert.isBelow(await counted("atoll_posting_lag_seconds_sum"), 60)
        assert.isAtLeast(await counted('atoll_postings_total{billing="unlimited"}'), 2)
        assert.strictEqual(await counted('atoll_postings_total{billing="prepaid"}'), 0)
      })
    })
  )
})
