/** What a snapshot costs, from the API to the ledger. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { snapshotMediaType } from "../../../schemas/SnapshotFile.ts"
import type { Cost, WalletTransaction } from "../../../schemas/Usage.ts"
import { verifyUsage } from "../../../src/wallet/verify/verifyUsage.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"
import { snapshotFile } from "../../support/snapshot/snapshotFile.ts"
import { untilFound } from "../../support/until.ts"

interface Tenant extends SnapshotTenant {
  readonly accountId: string
  /** A new rate card, from now on: nano-USD for a GiB that a snapshot stores and one second. Gives its instant. */
  readonly rate: (nanoUsd: bigint) => Promise<number>
  readonly sql: SqlClient.SqlClient
}

const withTenant = <A>(test: (tenant: Tenant) => Promise<A>) =>
  Effect.gen(function* () {
    const api = yield* TestApi
    const sql = yield* SqlClient.SqlClient
    const rate = async (nanoUsd: bigint) => {
      const at = Date.now()
      await Effect.runPromise(sql`
        insert into rate_cards (effective_at, vcpu_second_nano_usd, memory_gib_second_nano_usd, volume_gib_second_nano_usd,
          snapshot_gib_second_nano_usd, created_at)
        values (${BigInt(at)}, 1000, 1000, 1000, ${nanoUsd}, 0)`)
      return at
    }
    return yield* Effect.promise(async () => {
      const tenant = await snapshotTenant(api)
      const { account } = (await tenant.send("GET", "/me")).json
      return test({ ...tenant, accountId: account.id, rate, sql })
    })
  })

const mib = 2 ** 20
/** Of a simulated snapshot of a volume of this size. */
const storedBytes = 4n * BigInt(mib)
const perMicroUsd = 10n ** 6n * 2n ** 30n
const burnOf = (nanoUsd: bigint) => Number((nanoUsd * storedBytes * 3_600_000n) / perMicroUsd)

const sum = (amounts: ReadonlyArray<number>) => amounts.reduce((all, one) => all + one, 0)

const settings = { ATOLL_VOLUME_BYTES: String(4 * mib), ATOLL_CREDIT_GRACE_SECONDS: "0" }

describe.skipIf(isOverAFleet)("a snapshot", () => {
  layer(TestApi.layer(settings), { excludeTestServices: true })((it) => {
    it.effect("costs what it stores at its own rate from ready to deleted, also after its Sandbox was deleted", () =>
      withTenant(async ({ send, running, ready, rate, accountId, sql }) => {
        const get = async (path: string) => (await send("GET", path)).json
        const burnIs = (micro: number) =>
          untilFound(async () => ((await get("/usage/balance")).balance.burnMicroUsdPerHour === micro ? true : null))
        await rate(2_000_000_000n)
        const id = await running()
        const snapshotId = await ready(id, { name: "first" })
        await send("DELETE", `/sandboxes/${id}`)
        await burnIs(burnOf(2_000_000_000n))
        const report = await get(`/usage/costs?sandboxId=${id}`)
        assert.strictEqual(report.burnMicroUsdPerHour, burnOf(2_000_000_000n))
        const changedAt = await rate(4_000_000_000n)
        await burnIs(burnOf(4_000_000_000n))
        await untilFound(async () => (Date.now() > changedAt + 20 ? true : null))
        assert.strictEqual((await send("DELETE", `/snapshots/${snapshotId}`)).status, 204)
        await burnIs(0)

        const { transitions } = await get(`/snapshots/${snapshotId}/transitions`)
        const atOf = (state: string) => Date.parse(transitions.find(({ to }: { to: string }) => to === state).at)
        const [from, to] = [atOf("ready"), atOf("deleted")]
        assert.isTrue(from < changedAt && changedAt < to)
        const weight = BigInt(changedAt - from) * 2_000_000_000n + BigInt(to - changedAt) * 4_000_000_000n
        const microUsd = Number((weight * storedBytes) / perMicroUsd)
        for (const path of ["/usage/costs", `/usage/costs?sandboxId=${id}`]) {
          const { costs } = (await get(path)) as { readonly costs: ReadonlyArray<Cost> }
          assert.deepStrictEqual(
            costs.map(({ key, components }) => [key, components.snapshotMicroUsd]),
            [[id, microUsd]]
          )
        }
        const { usage } = await get("/usage")
        assert.strictEqual(usage.snapshotMibSeconds, ((to - from) * 4) / 1000)
        const all = (await get("/usage/transactions?limit=100")).transactions as ReadonlyArray<WalletTransaction>
        const own = all.filter((one) => one.snapshotId !== null)
        for (const { sandboxId, snapshotId: of, description } of own) {
          assert.deepStrictEqual([sandboxId, of, description], [id, snapshotId, "Snapshot first"])
        }
        assert.strictEqual(sum(own.map((one) => -one.microUsd)), microUsd)
        const { differences, snapshots } = await Effect.runPromise(verifyUsage(sql, accountId))
        assert.deepStrictEqual([differences, snapshots], [[], 1])
      })
    )

    it.effect("that was imported costs the same, under its own id", () =>
      withTenant(async ({ send, untilIs, workspaceId, rate, accountId, sql }) => {
        await rate(2_000_000_000n)
        const { json } = await send("POST", `/snapshots?workspaceId=${workspaceId}`, {
          body: await snapshotFile({ name: "from elsewhere" }),
          headers: { "content-type": snapshotMediaType }
        })
        const { id } = await untilIs("snapshot", json.snapshot.id, "ready")
        assert.strictEqual((await send("DELETE", `/snapshots/${id}`)).status, 204)
        const own = await untilFound(async () => {
          const { transactions } = (await send("GET", "/usage/transactions?limit=100")).json
          const found = (transactions as ReadonlyArray<WalletTransaction>).filter((one) => one.snapshotId !== null)
          return found.length > 0 ? found : null
        })
        const { costs } = (await send("GET", "/usage/costs")).json as { readonly costs: ReadonlyArray<Cost> }
        assert.deepStrictEqual(
          costs.map(({ key, name, components }) => [key, name, components.snapshotMicroUsd > 0]),
          [[id, "from elsewhere", true]]
        )
        for (const one of own) assert.deepStrictEqual([one.sandboxId, one.snapshotId], [null, id])
        const { differences } = await Effect.runPromise(verifyUsage(sql, accountId))
        assert.deepStrictEqual(differences, [])
      })
    )

    it.effect("stays and costs on when credit is exhausted, as a volume does; no further one can be taken", () =>
      withTenant(async ({ send, running, ready, take, untilIs, rate, accountId, sql }) => {
        await rate(3_000_000_000n)
        const id = await running()
        const first = await ready(id)
        await Effect.runPromise(sql`update accounts set billing = 'prepaid' where id = ${accountId}`)
        const second = await ready(id)
        const stopped = await untilIs("sandbox", id, "stopped")
        assert.strictEqual(stopped.statusReason.code, "CREDIT_EXHAUSTED")
        await untilFound(async () => ((await take(id)).status === 402 ? true : null))
        const owed = async () => -(await send("GET", "/usage/balance")).json.balance.microUsd
        const before = await owed()
        await untilFound(async () => ((await owed()) > before ? true : null))
        for (const snapshotId of [first, second]) {
          const { snapshot } = (await send("GET", `/snapshots/${snapshotId}`)).json
          assert.strictEqual(snapshot.status, "ready")
        }
        assert.strictEqual((await send("DELETE", `/snapshots/${first}`)).status, 204)
      })
    )
  })
})
