/** Which host gets a Sandbox, and that no host has more reserved than it has. */

import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { SandboxUnavailable } from "../../../schemas/Errors.ts"
import { publicText } from "../../../schemas/PublicText.ts"
import type { CreateSandboxRequest } from "../../../schemas/Sandbox.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { RuntimeRefused, RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { fresh as emptied } from "../../support/fleet/fresh.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { request, untilStatus } from "../../support/TestSandboxes.ts"
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

const fresh = Effect.map(emptied, () => new WorldFleet())

const becomesRight = wrongPromises.pipe(
  Effect.repeat({ until: (wrong) => wrong.length === 0, schedule: Schedule.spaced(20) }),
  Effect.timeout("60 seconds")
)

layer(TestDatabase.layer, { excludeTestServices: true })("placement", (it) => {
  it.effect("200 concurrent creates take exactly what three hosts have, and the others expire as on a full host", () =>
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

  it.effect("spreads or packs, only over ready hosts of the runtime, with a network if needed", () =>
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
        assert.notInclude(refused.message, "no tun")
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

  it.effect("starts a Sandbox where its volume is, not elsewhere, and says why not", () =>
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

        // Another Sandbox has its vCPU meanwhile.
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
          ["draining", "The operator is draining the host"],
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
        // No boot waits for a host that was removed.
        fleet.cut.add("host_a")
        yield* sandboxes.remove(accountId, id, request)
        yield* untilStatus(accountId, id, "deleted")
        yield* becomesRight
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect("keeps a new Sandbox waiting for silent hosts, and not for a lost one", () =>
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

  it.effect("keeps neither a boot nor a stop waiting for a lost host; a delete waits until the host is back", () =>
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
        // Placed on a host whose silence is not yet detected.
        yield* Effect.forkChild(create(account, "booting"))
        yield* Effect.forkChild(sandboxes.stop(accountId, stopped!, request))
        yield* Effect.forkChild(sandboxes.remove(accountId, deleted!, request))
        yield* untilStatus(accountId, stopped!, "stopping")
        yield* untilStatus(accountId, deleted!, "deleting")
        const id = yield* firstPending(accountId)
        yield* fleet.becomes("host_a", "lost")
        const reason = { code: "HOST_LOST", message: publicText`It was lost.` }
        yield* host.send(
          sandboxMachine,
          told!,
          { type: "HOST_LOST", generation: 1, reason, seenAt: Date.now() },
          { cause: "runtime" }
        )
        assert.deepInclude((yield* untilStatus(accountId, id, "failed")).statusReason, {
          code: "HOST_LOST",
          message: "Its host was lost before it had booted. Nothing was in it: delete it, and make another one."
        })
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

  const noRoom = new RuntimeRefused({ code: "HOST_FULL", message: publicText`Something else has filled the disk.` })

  it.effect("moves a first boot that its host refuses to another host, and only a first boot", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      for (const id of ["host_a", "host_b", "host_c"]) yield* fleet.add({ id })
      const refusing = new Set(["host_a", "host_b"])
      for (const [id, world] of fleet.worlds) {
        world.intercept = (call, sandboxId) => {
          if (call !== "provision" || !refusing.has(id)) return Effect.void
          world.volumes.add(sandboxId)
          return Effect.fail(noRoom)
        }
      }
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const account = yield* newAccount
        const { accountId } = account
        const made = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, n) => n),
          (n) => Effect.map(create(account, `k${n}`), ({ sandbox }) => sandbox),
          { concurrency: "unbounded" }
        )
        for (const { id, status } of made) {
          assert.strictEqual(status, "running")
          assert.deepStrictEqual(fleet.aliveOn(id), ["host_c"])
        }
        yield* becomesRight
        const leftovers = Effect.sync(() => ["host_a", "host_b"].flatMap((id) => [...fleet.worlds.get(id)!.volumes]))
        yield* leftovers.pipe(
          Effect.repeat({ until: (left) => left.length === 0, schedule: Schedule.spaced(10) }),
          Effect.timeout("60 seconds")
        )

        // A Sandbox with a volume stays on its host, even if others have room.
        const { id } = made[0]!
        yield* sandboxes.stop(accountId, id, request)
        refusing.add("host_c").delete("host_a")
        const start = sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
        assert.deepInclude(yield* Effect.flip(start), { _tag: "SANDBOX_LIMIT_REACHED" })
        assert.isTrue(fleet.worlds.get("host_c")!.volumes.has(id))
        refusing.clear()
        assert.strictEqual((yield* start).status, "running")
        assert.deepStrictEqual(fleet.aliveOn(id), ["host_c"])

        for (const host of fleet.worlds.keys()) refusing.add(host)
        assert.deepInclude(yield* Effect.flip(create(account, "full")), { _tag: "SANDBOX_LIMIT_REACHED" })
        yield* becomesRight
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect(
    "moves a first boot whose host is drained or closed before it, and stops it if no other host has room",
    () =>
      Effect.gen(function* () {
        const fleet = yield* fresh
        yield* fleet.add({ id: "host_a" })
        yield* fleet.add({ id: "host_b", vcpus: 0 })
        const sql = yield* SqlClient.SqlClient
        /** The change of host_a while it is to boot a Sandbox. */
        let next: string | null = null
        let roomElsewhere = 0
        const services = yield* Effect.context<SqlClient.SqlClient>()
        fleet.worlds.get("host_a")!.intercept = (call) => {
          if (call !== "provision" || next === null) return Effect.void
          const becomes = fleet.becomes("host_a", next)
          const elsewhere = sql`update hosts set vcpus = ${roomElsewhere} where id = 'host_b'`
          next = null
          return Effect.andThen(
            Effect.orDie(Effect.provideContext(Effect.andThen(becomes, elsewhere), services)),
            Effect.fail(new RuntimeUnavailable({ message: "Its process was just restarted." }))
          )
        }
        yield* Effect.gen(function* () {
          const sandboxes = yield* Sandboxes
          const account = yield* newAccount
          const { accountId } = account
          const createWhile = (becomes: string, key: string) =>
            Effect.suspend(() => {
              next = becomes
              return Effect.map(create(account, key), ({ sandbox }) => sandbox.id)
            })
          // The room is reserved, and no other host has any.
          assert.deepStrictEqual(fleet.aliveOn(yield* createWhile("cordoned", "stays")), ["host_a"])
          yield* fleet.becomes("host_a", "ready")
          const settled = yield* createWhile("ready", "settled")
          yield* sandboxes.stop(accountId, settled, request)
          assert.deepInclude(yield* Effect.flip(createWhile("draining", "nowhere")), { _tag: "SANDBOX_LIMIT_REACHED" })

          yield* fleet.becomes("host_a", "ready")
          next = "draining"
          yield* sandboxes.start(accountId, settled, { ...request, idempotencyKey: null })
          const stopped = yield* untilStatus(accountId, settled, "stopped")
          assert.include(stopped.statusReason?.message, "The operator is draining the host")
          assert.deepStrictEqual(fleet.aliveOn(settled), [])

          for (const status of ["cordoned", "draining"]) {
            yield* sql`update hosts set vcpus = 0 where id = 'host_b'`
            yield* fleet.becomes("host_a", "ready")
            roomElsewhere = 1000
            assert.deepStrictEqual(fleet.aliveOn(yield* createWhile(status, status)), ["host_b"])
          }
          yield* becomesRight
        }).pipe(Effect.provide(fleet.service({ ...many, ATOLL_HOST_LEASE_MS: "1000" })))
      })
  )

  it.effect("boots by the reservation the first time, and re-reads the host's state at every later boot", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const reservations = yield* Reservations
        const taken = (sandboxId: string) =>
          reservations.take({ sandboxId, kind: null, networkEnabled: false, vcpus: 1, memoryBytes: 1, diskBytes: 1 })
        const said = { hostId: "host_a", isUp: true, isSettled: false, status: "ready" }
        assert.deepInclude(yield* taken("sbx_a"), { hostId: "host_a" })
        yield* sql`update host_promises set is_settled = true`
        assert.deepStrictEqual(yield* reservations.raise("sbx_a", 1), said)
        assert.deepStrictEqual(yield* reservations.raise("sbx_a", 1), { ...said, isSettled: true })
        yield* taken("sbx_stopped")
        yield* sql`update host_promises set is_up = false where sandbox_id = 'sbx_stopped'`
        yield* sql`update hosts set vcpus_promised = vcpus_promised - 1, memory_promised = memory_promised - 1`
        assert.deepStrictEqual(yield* reservations.raise("sbx_stopped", 2), said)
        assert.deepInclude((yield* sql`select is_up from host_promises where sandbox_id = 'sbx_stopped'`)[0]!, {
          is_up: true
        })
        yield* taken("sbx_b")
        yield* reservations.release("sbx_b")
        assert.isNull(yield* reservations.raise("sbx_b", 1))
        yield* taken("sbx_late")
        yield* fleet.becomes("host_a", "cordoned")
        yield* Effect.sleep(1100)
        assert.deepStrictEqual(yield* reservations.raise("sbx_late", 1), { ...said, status: "cordoned" })
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect(
    "does not restart a Sandbox whose vCPUs or memory are reserved by others meanwhile, and takes neither",
    () =>
      Effect.gen(function* () {
        const fleet = yield* fresh
        yield* fleet.add({ id: "host_a" })
        const sql = yield* SqlClient.SqlClient
        yield* Effect.gen(function* () {
          const reservations = yield* Reservations
          const size = { vcpus: 1, memoryBytes: 1000, diskBytes: 1 }
          yield* reservations.take({ sandboxId: "sbx_a", kind: null, networkEnabled: false, ...size })
          yield* reservations.lower("sbx_a", 1)
          const sums = () =>
            sql`select vcpus_promised as vcpus, memory_promised as memory from hosts where id = 'host_a'`
          const full = { vcpus: sql`vcpus_promised = vcpus`, memory: sql`memory_promised = memory_bytes - 999` }
          for (const set of [full.vcpus, full.memory]) {
            yield* sql`update hosts set vcpus_promised = 0, memory_promised = 0 where id = 'host_a'`
            yield* sql`update hosts set ${set} where id = 'host_a'`
            const before = yield* sums()
            assert.deepInclude(yield* reservations.raise("sbx_a", 2), { hostId: "host_a", isUp: false })
            assert.deepStrictEqual(yield* sums(), before)
          }
          yield* sql`update hosts set vcpus_promised = vcpus - 1, memory_promised = memory_bytes - 1000 where id = 'host_a'`
          assert.deepInclude(yield* reservations.raise("sbx_a", 2), { hostId: "host_a", isUp: true })
        }).pipe(Effect.provide(fleet.service(many)))
      })
  )

  it.effect("does not believe a boot on a host that the Sandbox has left meanwhile", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b", vcpus: 0 })
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const reservations = yield* Reservations
        const account = yield* newAccount
        const world = fleet.worlds.get("host_a")!
        // A frozen service received the refusal, and wakes up only now.
        world.intercept = (call, sandboxId) => {
          if (call !== "provision") return Effect.void
          const profile = { vcpus: 1, memoryBytes: 1, volumeBytes: 1, generation: 1, networkEnabled: false }
          return Effect.andThen(
            Effect.orDie(sql`update hosts set vcpus = 1000 where id = 'host_b'`),
            Effect.map(reservations.move({ sandboxId, ...profile }, "host_a"), (moved) =>
              assert.strictEqual(moved, "moved")
            )
          )
        }
        const { id } = (yield* create(account, "one")).sandbox
        assert.isTrue(fleet.worlds.get("host_b")!.machines.has(id))
        assert.deepStrictEqual(yield* sql`select host_id, refused_by from host_promises where sandbox_id = ${id}`, [
          { host_id: "host_b", refused_by: ["host_a"] }
        ])
        // A running Sandbox stays.
        assert.strictEqual(
          yield* reservations.move(
            { sandboxId: id, vcpus: 1, memoryBytes: 1, volumeBytes: 1, generation: 1, networkEnabled: false },
            "host_b"
          ),
          "moved"
        )
        assert.strictEqual(yield* reservations.hostOf(id), "host_b")
      }).pipe(Effect.provide(fleet.service(many)))
    })
  )

  it.effect("samples Sandboxes on the hosts that this service supervises, and no others", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      fleet.supervised = []
      yield* Effect.gen(function* () {
        const account = yield* newAccount
        const ids = yield* Effect.forEach([1, 2, 3, 4], (n) =>
          Effect.map(create(account, `k${n}`), ({ sandbox }) => sandbox.id)
        )
        const on = (host: string) => ids.filter((id) => fleet.aliveOn(id).includes(host))
        assert.notStrictEqual(on("host_a").length * on("host_b").length, 0)
        assert.deepStrictEqual(fleet.sampled, [])
        const untilMeasured = (all: ReadonlyArray<string>) =>
          Effect.sync(() => all.every((id) => fleet.sampled.filter((it) => it === id).length > 1)).pipe(
            Effect.repeat({ until: (is) => is, schedule: Schedule.spaced(10) }),
            Effect.timeout("60 seconds")
          )
        fleet.supervised = ["host_a"]
        yield* untilMeasured(on("host_a"))
        assert.deepStrictEqual([...new Set(fleet.sampled)].sort(), on("host_a").sort())
        fleet.supervised = null
        yield* untilMeasured(ids)
      }).pipe(Effect.provide(fleet.service({ ...many, ATOLL_TELEMETRY_INTERVAL_MS: "50" })))
    })
  )
})
