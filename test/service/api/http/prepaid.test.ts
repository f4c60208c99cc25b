/**
 * A prepaid account over HTTP, with the ledger that plans the end of its credit: no grant, then a grant, then the
 * grant's end.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { Accounts } from "../../../../src/account/Accounts.ts"
import { awaitLeases } from "../../../../src/account/KeyLease.ts"
import { Ledger } from "../../../../src/wallet/Ledger.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const service = Layer.merge(Accounts.layer, Ledger.layer).pipe(Layer.provideMerge(TestApi.layer()))

/** A prepaid account with a key and a workspace. */
const newPayer = Effect.gen(function* () {
  const api = yield* TestApi
  const name = randomUUID()
  const { id } = yield* (yield* Accounts).create({ name, email: null, billing: "prepaid" })
  const { secret: key } = yield* Effect.promise(() => api.newKey(scopes, name))
  const workspaceId = yield* Effect.promise(() => api.newWorkspace(key))
  const ledger = yield* Ledger
  return {
    id,
    create: Effect.promise(() =>
      api.send("POST", "/api/v2/sandboxes", {
        key,
        body: { workspaceId },
        headers: { "idempotency-key": randomUUID() }
      })
    ),
    execute: (sandboxId: string) =>
      Effect.promise(() =>
        api.send("POST", `/api/v2/sandboxes/${sandboxId}/execute`, { key, body: { argv: ["echo", "hello"] } })
      ),
    give: (microUsd: bigint, expiresAt: number | null) =>
      ledger
        .grant({ accountId: id, kind: "purchase", microUsd, expiresAt, description: "Credit" })
        .pipe(Effect.andThen(awaitLeases))
  }
})

layer(service, { excludeTestServices: true })("a prepaid account", (it) => {
  it.effect("has no credit before a grant, and has it in the next request after one", () =>
    Effect.gen(function* () {
      const { create, execute, give } = yield* newPayer
      const refused = yield* create
      assert.deepStrictEqual([refused.status, refused.json.code], [402, "CREDIT_EXHAUSTED"])
      yield* give(1_000_000n, null)
      const made = yield* create
      assert.strictEqual(made.status, 202, made.text)
      assert.strictEqual((yield* execute(made.json.sandbox.id)).status, 200)
    })
  )

  it.effect("has no credit from the instant at which its last grant expires, without any poll", () =>
    Effect.gen(function* () {
      const { create, execute, give } = yield* newPayer
      const expiresAt = Date.now() + 2500
      yield* give(1_000_000n, expiresAt)
      const sandboxId: string = (yield* create).json.sandbox.id
      const first = yield* execute(sandboxId)
      if (Date.now() < expiresAt) assert.strictEqual(first.status, 200, first.text)
      let refusedAt = 0
      while (refusedAt === 0) {
        const began = Date.now()
        const { status } = yield* execute(sandboxId)
        if (Date.now() < expiresAt) assert.strictEqual(status, 200)
        if (began >= expiresAt) assert.strictEqual(status, 402)
        if (status === 402) refusedAt = began
      }
      assert.strictEqual((yield* create).status, 402)
      yield* give(1_000_000n, null)
      assert.strictEqual((yield* execute(sandboxId)).status, 200)
      assert.strictEqual((yield* create).status, 202)
    })
  )
})
