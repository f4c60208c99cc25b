/** Other sizes of a Sandbox on its host: what is reserved there, and what the host cannot give. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { until } from "../../support/until.ts"
import { WorldFleet, wrongPromises } from "./WorldFleet.ts"

const GiB = 2 ** 30
const settings = { ATOLL_SANDBOX_VCPUS_MAX: "16", ATOLL_VOLUME_BYTES_MAX: String(64 * GiB) }

layer(TestDatabase.layer, { excludeTestServices: true })("other sizes in a fleet", (it) => {
  it.effect(
    "are reserved on the Sandbox's host, parts of a vCPU as a whole one, and refused where it has no room",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const fleet = new WorldFleet()
        yield* fleet.add({ id: "host_a", vcpus: 4, diskBytes: 10 * GiB })
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const sandboxes = yield* Sandboxes
          const { accountId, workspaceId } = yield* newAccount
          const { sandbox } = yield* sandboxes.create({
            accountId,
            requestId: "req_test",
            idempotencyKey: "k",
            fingerprint: "f",
            request: {
              workspaceId,
              name: null,
              profile: { vcpus: 0.4 },
              networkEnabled: false,
              metadata: {},
              env: {},
              lifetime: null
            },
            wait: "running"
          })
          const resize = (profile: { readonly vcpus?: number; readonly diskBytes?: number }) =>
            sandboxes.update(accountId, sandbox.id, { requestId: "req_test", request: { profile }, mayDelete: true })
          const reserved = Effect.map(
            sql<{ readonly vcpus: number; readonly disk: number }>`
            select vcpus_promised as vcpus, (disk_promised / ${BigInt(GiB)})::int4 as disk from hosts`,
            ([row]) => [row!.vcpus, row!.disk]
          )
          const { vcpus } = (yield* sandboxes.get(accountId, sandbox.id)).profile
          assert.deepStrictEqual([vcpus, yield* reserved], [0.4, [1, 4]])
          yield* resize({ vcpus: 2.5, diskBytes: 6 * GiB })
          assert.deepStrictEqual(yield* reserved, [3, 6])
          yield* until(
            Effect.sync(() => fleet.worlds.get("host_a")?.machines.get(sandbox.id)?.spec.vcpus),
            (now) => now === 2.5
          )
          for (const tooMuch of [{ vcpus: 4.1 }, { diskBytes: 11 * GiB }]) {
            const refused = yield* Effect.flip(resize(tooMuch))
            assert.deepInclude(refused, { _tag: "SANDBOX_LIMIT_REACHED" })
          }
          assert.deepStrictEqual(yield* reserved, [3, 6])
          assert.strictEqual((yield* sandboxes.get(accountId, sandbox.id)).profile.vcpus, 2.5)
          yield* resize({ vcpus: 0.1 })
          assert.deepStrictEqual(yield* reserved, [1, 6])
          assert.deepStrictEqual(yield* wrongPromises, [])
        }).pipe(Effect.provide(fleet.service(settings)))
      })
  )
})
