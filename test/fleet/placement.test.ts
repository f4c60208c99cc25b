/** Which host gets a Sandbox, and that none is promised more than it has. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { SandboxUnavailable } from "../../schemas/Errors.ts"
import type { CreateSandboxRequest } from "../../schemas/Sandbox.ts"
import { ActorHost } from "../../src/actor/ActorHost.ts"
import { Sandboxes } from "../../src/sandbox/Sandboxes.ts"
import { newAccount } from "../support/TestAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { request, untilStatus } from "../support/TestSandboxes.ts"
import { WorldFleet, wrongPromises } from "./WorldFleet.ts"

const many = { ATOLL_SANDBOXES_PER_ACCOUNT: "1000", ATOLL_WORKSPACE_STORAGE_BYTES: String(2 ** 50) }

type Account = { readonly accountId: string; readonly workspaceId: string }

const create = Effect.fnUntraced(function* (account: Account, key: string, given: Partial<CreateSandboxRequest> = {}) {
  const { accountId, workspaceId } = account
  return yield* (yield* Sandboxes).create({
    accountId,
    requestId: "req_test",
    idempotencyKey: key,
    fingerprint: "f",
    request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null, ...given },
    wait: "running"
  })
})

const hostOf = (sandboxId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly host: string | null }>`
      select snapshot -> 'context' ->> 'hostId' as host from actors where id = ${sandboxId}`
  ).pipe(Effect.map(([row]) => row!.host))

/** Waits until there is one. */
const firstPending = Effect.fnUntraced(function* (accountId: string) {
  const sandboxes = yield* Sandboxes
  const pending = { status: ["pending"] as const, workspaceId: null, metadata: {}, limit: null, cursor: null }
  const { sandboxes: found } = yield* sandboxes
    .list(accountId, pending)
    .pipe(
      Effect.repeat({ until: (page) => page.sandboxes.length > 0, schedule: Schedule.spaced(10) }),
      Effect.timeout("60 seconds")
    )
  return found[0]!.id
})

/** Each test has hosts of its own. */
const fresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`delete from host_promises`
  yield* sql`delete from hosts`
  yield* sql`delete from actors where kind in ('host', 'sandbox')`
  return new WorldFleet()
})

const becomesRight = wrongPromises.pipe(
  Effect.repeat({ until: (wrong) => wrong.length === 0, schedule: Schedule.spaced(20) }),
  Effect.timeout("60 seconds")
)

layer(TestDatabase.layer, { excludeTestServices: true })("placement", (it) => {
  it.effect("200 creates at once take exactly what three hosts have, and the others expire as on a full host", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      for (const [id, vcpus] of [
        ["host_a", 40],
        ["host_b", 30],
        ["host_c", 20]
      ] as const)
        yield* fleet.add({ id, vcpus })
      yield* Effect.gen(function* () {
        const accounts = yield* Effect.forEach([1, 2, 3, 4], () => newAccount)
        const made = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, n) => n),
          (n) => Effect.result(create(accounts[n % 4]!, `k${n}`)),
          { concurrency: "unbounded" }
        )
        const refused = made.flatMap((it) => (it._tag === "Failure" ? [it.failure] : []))
        assert.strictEqual(refused.length, 110)
        for (const it of refused) assert.strictEqual(it._tag, "SANDBOX_LIMIT_REACHED")
        assert.deepStrictEqual(
          [...fleet.worlds.values()].map(({ machines }) => machines.size),
          [40, 30, 20]
        )
        yield* becomesRight
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect("spreads, or packs, and only over hosts that are ready, of that kind, and with a network if need be", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      const memory = 2 ** 40
      yield* fleet.add({ id: "host_a", memoryBytes: memory })
      yield* fleet.add({ id: "host_b", memoryBytes: memory })
      yield* fleet.add({ id: "host_cordoned" }, "cordoned")
      yield* fleet.add({ id: "host_vm", kind: "vm", networkRefused: "no tun" })
      const account = yield* newAccount
      const placed = (key: string, given?: Partial<CreateSandboxRequest>) =>
        Effect.flatMap(create(account, key, given), ({ sandbox }) =>
          Effect.map(hostOf(sandbox.id), (host) => [host, sandbox.runtime] as const)
        )
      yield* Effect.gen(function* () {
        const spread = yield* Effect.forEach([1, 2, 3, 4], (n) => placed(`s${n}`, { runtime: "namespace" }))
        assert.deepStrictEqual(spread.map(([host]) => host).sort(), ["host_a", "host_a", "host_b", "host_b"])
        assert.deepStrictEqual(yield* placed("vm", { runtime: "vm" }), ["host_vm", "vm"])
        const refused = yield* Effect.flip(placed("net", { runtime: "vm", networkEnabled: true }))
        assert.deepInclude(refused, { _tag: "UNSUPPORTED_BY_RUNTIME" })
        assert.include(refused.message, "no tun")
      }).pipe(Effect.provide(fleet.service({ ...many, ATOLL_FLEET_RUNTIME: "namespace" })))
      yield* Effect.gen(function* () {
        const packed = yield* Effect.forEach([1, 2, 3], (n) => placed(`p${n}`))
        assert.strictEqual(new Set(packed.map(([host]) => host)).size, 1)
        yield* becomesRight
        yield* fleet.becomes("host_vm", "gone")
        assert.deepInclude(yield* Effect.flip(placed("none", { runtime: "vm" })), { _tag: "UNSUPPORTED_BY_RUNTIME" })
      }).pipe(Effect.provide(fleet.service({ ...many, ATOLL_PLACEMENT: "pack", ATOLL_FLEET_RUNTIME: "namespace" })))
    })
  )

  it.effect("starts where the volume is, not elsewhere, and says why not", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a", vcpus: 1 })
      yield* fleet.add({ id: "host_b", vcpus: 0 })
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const sql = yield* SqlClient.SqlClient
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* create(account, "first")).sandbox
        const start = sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
        yield* sandboxes.stop(accountId, id, request)
        yield* becomesRight

        // Another one has its vCPU meanwhile.
        const { id: other } = (yield* create(account, "second")).sandbox
        yield* sql`update hosts set vcpus = 1000 where id = 'host_b'`
        assert.deepInclude(yield* Effect.flip(start), { _tag: "SANDBOX_LIMIT_REACHED" })
        assert.deepInclude(yield* sandboxes.get(accountId, id), { status: "stopped", generation: 2 })
        yield* sandboxes.remove(accountId, other, request)
        yield* becomesRight
        assert.strictEqual((yield* start).status, "running")
        assert.deepStrictEqual(fleet.aliveOn(id), ["host_a"])
        yield* sandboxes.stop(accountId, id, request)

        for (const [status, sentence] of [
          ["draining", "The operator empties the host"],
          ["suspect", "does not answer now"],
          ["joining", "does not answer now"],
          ["lost", "was lost"],
          ["gone", "taken out of service"]
        ] as const) {
          yield* fleet.becomes("host_a", status)
          const refused = yield* Effect.flip(start)
          assert.instanceOf(refused, SandboxUnavailable)
          assert.include(refused.message, sentence)
        }
        // Nothing is waited for of a host that was taken out.
        fleet.cut.add("host_a")
        yield* sandboxes.remove(accountId, id, request)
        yield* untilStatus(accountId, id, "deleted")
        yield* becomesRight
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect("waits with a new Sandbox for hosts that are silent, and not for one that is lost", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" }, "suspect")
      yield* fleet.add({ id: "host_full", vcpus: 0 })
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const account = yield* newAccount
        const { accountId } = account
        const begin = Effect.fnUntraced(function* (key: string) {
          const creating = yield* Effect.forkChild(create(account, key))
          return { creating, id: yield* firstPending(accountId) }
        })
        const first = yield* begin("first")
        yield* fleet.becomes("host_a", "joining")
        yield* Effect.sleep(600)
        assert.deepInclude(yield* sandboxes.get(accountId, first.id), { status: "pending" })
        yield* fleet.becomes("host_a", "ready")
        assert.deepInclude((yield* Fiber.join(first.creating)).sandbox, { status: "running" })
        assert.deepStrictEqual(fleet.aliveOn(first.id), ["host_a"])

        yield* fleet.becomes("host_a", "suspect")
        const second = yield* begin("second")
        yield* fleet.becomes("host_a", "lost")
        assert.deepInclude(yield* Effect.flip(Fiber.join(second.creating)), { _tag: "SANDBOX_LIMIT_REACHED" })
        yield* becomesRight
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect(
    "nothing waits for ever for a host that is lost: not a boot, not a stop; a delete does until it is back",
    () =>
      Effect.gen(function* () {
        const fleet = yield* fresh
        yield* fleet.add({ id: "host_a" })
        yield* Effect.gen(function* () {
          const sandboxes = yield* Sandboxes
          const host = yield* ActorHost
          const account = yield* newAccount
          const { accountId } = account
          const [stopped, deleted, told] = yield* Effect.forEach(["stopped", "deleted", "told"], (key) =>
            Effect.map(create(account, key), ({ sandbox }) => sandbox.id)
          )
          fleet.cut.add("host_a")
          // Placed on a host whose silence nobody has noticed yet.
          yield* Effect.forkChild(create(account, "booting"))
          yield* Effect.forkChild(sandboxes.stop(accountId, stopped!, request))
          yield* Effect.forkChild(sandboxes.remove(accountId, deleted!, request))
          yield* untilStatus(accountId, stopped!, "stopping")
          yield* untilStatus(accountId, deleted!, "deleting")
          const id = yield* firstPending(accountId)
          yield* fleet.becomes("host_a", "lost")
          const reason = { code: "HOST_LOST", message: "It was lost." }
          yield* host.send(
            "sandbox",
            told!,
            { type: "HOST_LOST", generation: 1, reason, seenAt: Date.now() },
            { cause: "runtime" }
          )
          assert.deepInclude((yield* untilStatus(accountId, id, "failed")).statusReason, { code: "HOST_LOST" })
          assert.deepInclude((yield* untilStatus(accountId, stopped!, "stopped")).statusReason, { code: "HOST_LOST" })
          assert.deepInclude(yield* sandboxes.get(accountId, deleted!), { status: "deleting" })
          yield* becomesRight

          fleet.cut.clear()
          yield* fleet.becomes("host_a", "ready")
          yield* untilStatus(accountId, deleted!, "deleted")
          const again = yield* sandboxes.start(accountId, stopped!, { ...request, idempotencyKey: null })
          assert.deepInclude(again, { status: "running", generation: 2 })
          yield* becomesRight
        }).pipe(Effect.provide(fleet.service({ ...many, ATOLL_HOST_LEASE_MS: "1000" })))
      })
  )
})
