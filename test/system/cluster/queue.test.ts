/**
 * The queued operations of one Sandbox belong to any process of a cluster: they have one order, which survives a
 * process.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { probe } from "../../../src/host/namespace/probe.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Members } from "./Members.ts"

const queued = 14
const completeWithinMs = 90_000

const { ok } = await Effect.runPromise(probe)

const inOrder = async (members: Members): Promise<void> => {
  const [one, other] = members.all as [(typeof members.all)[0], (typeof members.all)[0]]
  await members.makeSandboxes(1)
  const path = `/sandboxes/${members.sandboxes[0]}`
  const start = async (via: typeof one, name: string, first = "") => {
    const argv = ["sh", "-c", `${first} echo ${name} >> /workspace/order`]
    const { status, body } = await via.ask("POST", `${path}/operations`, { argv }, name)
    assert.strictEqual(status, 202, JSON.stringify(body))
    return `${path}/operations/${body.operation.id}`
  }
  const until = async (operation: string, wanted: string) => {
    const end = Date.now() + completeWithinMs
    while (true) {
      const { body } = await other.ask("POST", `${operation}/wait`, { timeoutSeconds: 20 })
      if (body.operation.status === wanted) return
      assert.isBelow(Date.now(), end, `${JSON.stringify(body)}\n${other.log}`)
    }
  }
  const names = Array.from({ length: queued }, (_, index) => `${index}`)
  const holder = await start(one, "holder", "until [ -e /workspace/go ]; do sleep 0.05; done;")
  await until(holder, "running")
  const operations: Array<string> = []
  for (const [index, name] of names.entries()) operations.push(await start(index % 2 === 0 ? one : other, name))
  for (const operation of operations) {
    assert.strictEqual((await other.ask("GET", operation)).body.operation.status, "queued")
  }
  await one.kill()
  assert.strictEqual(
    (await other.bytes("PUT", `${path}/files/content?path=/workspace/go`, new Uint8Array(1))).status,
    204
  )
  for (const operation of [holder, ...operations]) await until(operation, "completed")
  const { bytes } = await other.bytes("GET", `${path}/files/content?path=/workspace/order`)
  assert.deepStrictEqual(bytes.toString().trim().split("\n"), ["holder", ...names])
}

describe.runIf(ok)("queued operations of a cluster", () => {
  it.live(
    "begin in the order of their acceptance, in any process, even if one dies",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        yield* Effect.promise(async () => {
          const members = await Members.start(2, url, { ATOLL_OPERATIONS_RUNNING: "1" })
          try {
            await inOrder(members)
          } finally {
            await members.end()
          }
        })
      }).pipe(Effect.provide(TestDatabase.bare)),
    180_000
  )
})
