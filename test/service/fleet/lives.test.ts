/**
 * Random lives on hosts that are small, fail, refuse and go away, under a service that is killed now and then. At no
 * instant is more reserved on a host than it has, and in the end the reservations match the Sandboxes.
 */

import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { publicText } from "../../../schemas/PublicText.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { RuntimeRefused, RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { request } from "../../support/TestSandboxes.ts"
import { WorldFleet, wrongPromises } from "./WorldFleet.ts"

const seed = Number(process.env["FLEET_SEED"] ?? 1)
const lives = 4
const stepsPerLife = 60
const atOnce = 6
const vcpusEach = 4
const environment = {
  ATOLL_SANDBOXES_PER_ACCOUNT: "1000",
  ATOLL_WORKSPACE_STORAGE_BYTES: String(2 ** 50),
  ATOLL_HOST_LEASE_MS: "1000"
}

/** mulberry32: 0 to 1, deterministic for a seed. */
const chance = (from: number) => {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const over = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    select id from hosts where vcpus_promised > vcpus or memory_promised > memory_bytes or disk_promised > disk_bytes
      or vcpus_promised < 0 or memory_promised < 0 or disk_promised < 0`
)

layer(TestDatabase.layer, { excludeTestServices: true })("lives on a fleet", (it) => {
  it.effect(`fit on their hosts, and leave no reservation (FLEET_SEED=${seed})`, () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = chance(seed)
      const pick = <A>(of: ReadonlyArray<A>): A => of[Math.floor(random() * of.length)]!
      const fleet = new WorldFleet()
      const ids = ["host_a", "host_b", "host_c"]
      for (const id of ids) yield* fleet.add({ id, vcpus: vcpusEach })
      let isCalm = false
      for (const world of fleet.worlds.values()) {
        world.intercept = (call): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> => {
          if (isCalm || call === "turn" || random() > 0.15) return Effect.void
          return call === "provision" && random() < 0.5
            ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
            : Effect.fail(new RuntimeUnavailable({ message: "It does not work now." }))
        }
      }
      const account = yield* newAccount
      const { accountId, workspaceId } = account
      const made: Array<string> = []
      let keys = 0

      const create = Effect.gen(function* () {
        const { sandbox } = yield* (yield* Sandboxes).create({
          accountId,
          requestId: "req_test",
          idempotencyKey: `k${keys++}`,
          fingerprint: "f",
          request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
        })
        made.push(sandbox.id)
      })

      /**
       * Like the host's actor: it changes its state first, then its Sandboxes; when it is back, it first ends what
       * still runs there of those.
       */
      const loses = Effect.fnUntraced(function* (hostId: string) {
        if (fleet.cut.has(hostId)) return
        fleet.cut.add(hostId)
        yield* fleet.becomes(hostId, "lost")
        const host = yield* ActorHost
        const reason = { code: "HOST_LOST", message: publicText`It was lost.` }
        const there = yield* sql<{ readonly id: string; readonly generation: number }>`
            select a.id, (snapshot -> 'context' ->> 'generation')::int4 as generation
            from host_promises p join actors a on a.id = p.sandbox_id where p.host_id = ${hostId}`
        for (const { id, generation } of there) {
          const lost = { type: "HOST_LOST" as const, generation, reason, seenAt: Date.now() }
          yield* Effect.ignore(host.send(sandboxMachine, id, lost, { cause: "host" }))
        }
      })
      const returns = Effect.fnUntraced(function* (hostId: string) {
        if (!fleet.cut.delete(hostId)) return
        yield* fleet.becomes(hostId, "ready")
        const host = yield* ActorHost
        for (const id of fleet.worlds.get(hostId)!.machines.keys()) {
          yield* Effect.ignore(host.send(sandboxMachine, id, { type: "RUNTIME_FOUND" }, { cause: "host" }))
        }
      })

      const cut = Effect.timeout("300 millis")

      const step = Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const at = random()
        // Answered before it boots, even on a slow machine.
        if (at < 0.35 || made.length === 0) return yield* create
        const id = pick(made)
        if (at < 0.55) return yield* cut(sandboxes.start(accountId, id, { ...request, idempotencyKey: null }))
        if (at < 0.7) return yield* cut(sandboxes.stop(accountId, id, request))
        if (at < 0.85) return yield* cut(sandboxes.remove(accountId, id, request))
        if (at < 0.92) return void fleet.worlds.get(pick(ids))!.crash(id)
        if (at < 0.96) return yield* loses(pick(ids))
        return yield* returns(pick(ids))
      }).pipe(Effect.ignore)

      for (let life = 0; life < lives; life++) {
        yield* Effect.gen(function* () {
          const watched = yield* Effect.forkChild(
            Effect.repeat(over, { schedule: Schedule.spaced(5), until: (found) => found.length > 0 })
          )
          yield* Effect.forEach(Array.from({ length: stepsPerLife }), () => step, { concurrency: atOnce })
          assert.isUndefined(watched.pollUnsafe(), "a host is promised more than it has")
        }).pipe(Effect.provide(fleet.service(environment)))
      }

      isCalm = true
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        for (const id of ids) yield* returns(id)
        yield* Effect.repeat(wrongPromises, {
          until: (wrong) => wrong.length === 0,
          schedule: Schedule.spaced(50)
        }).pipe(Effect.timeout("120 seconds"))
        assert.isAbove(made.length, 20)
        // Including those whose answer no client awaited.
        const left = sql<{
          readonly id: string
        }>`select id from actors where kind = 'sandbox' and status <> 'deleted'`
        yield* Effect.forEach(yield* left, ({ id }) => Effect.ignore(sandboxes.remove(accountId, id, request)), {
          concurrency: 8
        })
        yield* Effect.repeat(left, { until: (rows) => rows.length === 0, schedule: Schedule.spaced(50) })
        assert.deepStrictEqual(yield* sql`select * from host_promises`, [])
        assert.deepStrictEqual(
          yield* sql`select vcpus_promised + memory_promised + disk_promised as left from hosts`,
          ids.map(() => ({ left: 0n }))
        )
        for (const world of fleet.worlds.values()) assert.strictEqual(world.volumes.size + world.machines.size, 0)
      }).pipe(Effect.provide(fleet.service(environment)))
    })
  )
})
