/** Snapshots and forks as a model makes them, with an official client, on simulated machines. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { presentClient } from "../../../support/mcp/McpClients.ts"

const settings = { ATOLL_SANDBOXES_PER_ACCOUNT: "4", ATOLL_VOLUME_BYTES: "1048576" }

describe.skipIf(isOverAFleet)("the tools of snapshots", () => {
  layer(TestApi.layer(settings), { excludeTestServices: true })((it) => {
    it.effect("keep files, make Sandboxes of them, fork, repeat nothing, and refuse what is another account's", () =>
      Effect.flatMap(TestApi, ({ newKey, port, world }) =>
        Effect.promise(async () => {
          const url = `http://127.0.0.1:${port}`
          const clientOf = async () => presentClient(url, (await newKey(scopes, crypto.randomUUID())).secret)
          const client = await clientOf()
          const call = async (name: string, given: Readonly<Record<string, unknown>>, by = client) => {
            const { isError, answer, text } = await by.call(name, given)
            assert.isFalse(isError, `${name}: ${text}`)
            return answer
          }
          const sandboxId = (await call("create_sandbox", { name: "source" })).sandbox.id
          const taking = { sandboxId, name: "before", idempotencyKey: "one" }
          const { snapshot } = await call("create_snapshot", taking)
          assert.deepInclude(snapshot, { sandboxId, name: "before", status: "ready", expiresAt: null })
          assert.strictEqual((await call("create_snapshot", taking)).snapshot.id, snapshot.id)
          const made = await call("create_sandbox", { snapshotId: snapshot.id })
          assert.strictEqual(made.sandbox.status, "running")

          const remembering = { sandboxId, memory: true }
          for (const name of ["create_snapshot", "fork_sandbox"]) {
            const { isError, answer, text } = await client.call(name, remembering)
            assert.deepStrictEqual([isError, (answer ?? JSON.parse(text)).code], [true, "MEMORY_NOT_SUPPORTED"], name)
          }
          world.keepsMemory = true
          const remembered = await call("create_snapshot", remembering)
          world.keepsMemory = false
          assert.isTrue(remembered.snapshot.memory)
          await call("delete_snapshot", { snapshotId: remembered.snapshot.id })

          const forking = { sandboxId, count: 3, names: ["first"], idempotencyKey: "two" }
          const fork = await call("fork_sandbox", forking)
          assert.deepStrictEqual(
            fork.sandboxes.map(({ name, status }: Record<string, string>) => [name, status]),
            [
              ["first", "running"],
              ["source", "running"]
            ]
          )
          assert.deepStrictEqual(
            fork.refused.map(({ index, code }: Record<string, unknown>) => [index, code]),
            [[2, "SANDBOX_LIMIT_REACHED"]]
          )
          assert.deepStrictEqual(await call("fork_sandbox", forking), fork)

          const rolling = { sandboxId, snapshotId: snapshot.id, idempotencyKey: "three" }
          const rolled = await call("rollback_sandbox", rolling)
          assert.deepInclude(rolled, { outcome: "done", reason: null })
          assert.strictEqual(rolled.sandbox.status, "running")
          assert.deepInclude(rolled.kept, { sandboxId, status: "ready" })
          assert.deepStrictEqual(await call("rollback_sandbox", rolling), rolled)
          await call("delete_snapshot", { snapshotId: rolled.kept.id })

          const listed = async (given: object = {}) =>
            (await call("list_snapshots", { ...given })).snapshots.map(({ id }: { id: string }) => id)
          assert.deepStrictEqual(await listed(), [fork.snapshotId, snapshot.id])
          assert.deepStrictEqual(await listed({ sandboxId: made.sandbox.id }), [])
          const stranger = await clientOf()
          for (const [name, given] of [
            ["create_snapshot", { sandboxId }],
            ["fork_sandbox", { sandboxId }],
            ["rollback_sandbox", { sandboxId, snapshotId: snapshot.id }],
            ["delete_snapshot", { snapshotId: snapshot.id }]
          ] as const) {
            const { isError, answer, text } = await stranger.call(name, given)
            assert.deepStrictEqual([isError, (answer ?? JSON.parse(text)).code], [true, "NOT_FOUND"], name)
          }
          assert.deepStrictEqual(await call("list_snapshots", {}, stranger), { snapshots: [], nextCursor: null })
          const removal = { snapshotId: snapshot.id }
          assert.deepStrictEqual(await call("delete_snapshot", removal), { ...removal, deleted: true })
          assert.deepStrictEqual(await listed(), [fork.snapshotId])
        })
      )
    )
  })
})
