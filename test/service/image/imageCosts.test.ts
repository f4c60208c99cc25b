/** What an image costs, from the API to the ledger, and what hosts keep of images without an account. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { WalletTransaction } from "../../../schemas/Usage.ts"
import { verifyUsage } from "../../../src/wallet/verify/verifyUsage.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { imageTenant } from "../../support/image/ImageTenant.ts"
import { untilFound } from "../../support/until.ts"

describe.skipIf(isOverAFleet)("an image", () => {
  layer(TestApi.layer({ ATOLL_RECONCILE_INTERVAL_MS: "50" }), { excludeTestServices: true })((it) => {
    it.effect("costs what it stores at the rate of snapshots, from ready to deleted", () =>
      Effect.gen(function* () {
        const api = yield* TestApi
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          insert into rate_cards (effective_at, vcpu_second_nano_usd, memory_gib_second_nano_usd, volume_gib_second_nano_usd,
            snapshot_gib_second_nano_usd, created_at)
          values (1, 1000, 1000, 1000, 4000000000, 0)`
        yield* Effect.promise(async () => {
          const { send, pull, untilIs } = await imageTenant(api)
          const get = async (path: string) => (await send("GET", path)).json
          const { id } = (await pull({ name: "tools", reference: "registry.test/priced:1" })).json.image
          const { storedBytes } = await untilIs("images", id, "ready")
          const burn = Number((4_000_000_000n * BigInt(storedBytes) * 3_600_000n) / (10n ** 6n * 2n ** 30n))
          await untilFound(async () => (await get("/usage/balance")).balance.burnMicroUsdPerHour === burn)
          assert.strictEqual((await send("DELETE", `/images/${id}`)).status, 204)
          await untilFound(async () => (await get("/usage/balance")).balance.burnMicroUsdPerHour === 0)
          const { transitions } = await get(`/images/${id}/transitions`)
          const atOf = (state: string) => Date.parse(transitions.find(({ to }: { to: string }) => to === state).at)
          const ms = atOf("deleted") - atOf("ready")
          const microUsd = Number((BigInt(ms) * 4_000_000_000n * BigInt(storedBytes)) / (10n ** 6n * 2n ** 30n))
          for (const [groupBy, key] of [
            ["sandbox", id],
            ["workspace", "images"]
          ] as const) {
            const { costs } = await get(`/usage/costs?groupBy=${groupBy}`)
            assert.deepInclude(costs[0], { key, microUsd })
          }
          const { transactions } = await get("/usage/transactions?limit=100")
          const own = (transactions as ReadonlyArray<WalletTransaction>).filter(({ imageId }) => imageId !== null)
          for (const { imageId, sandboxId, snapshotId, description } of own) {
            assert.deepStrictEqual([imageId, sandboxId, snapshotId, description], [id, null, null, "Image tools"])
          }
          assert.strictEqual(
            own.reduce((sum, one) => sum - one.microUsd, 0),
            microUsd
          )
          const { differences } = await Effect.runPromise(verifyUsage(sql, (await get("/me")).account.id))
          assert.deepStrictEqual(differences, [])
        })
      })
    )

    it.effect("is removed from a host that has it for no account, and others stay", () =>
      Effect.gen(function* () {
        const api = yield* TestApi
        yield* Effect.promise(async () => {
          const { pull, untilIs } = await imageTenant(api)
          const { id } = (await pull({ reference: "registry.test/kept:1" })).json.image
          const { digest } = await untilIs("images", id, "ready")
          api.world.images.add("sha256:stray")
          await untilFound(() => !api.world.images.has("sha256:stray"))
          assert.isTrue(api.world.images.has(digest))
        })
      })
    )
  })
})
