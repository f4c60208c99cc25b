/** The hosts of a fleet, from their first join to their end, as its services see them. */

import { assert, layer } from "@effect/vitest"
import { Effect, PubSub } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { RuntimeRefused, RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { fleetService, statesOf, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, start, untilStatus } from "../../support/TestSandboxes.ts"
import { until } from "../../support/until.ts"

const bootsOf = ({ world }: WorldHost, sandboxId: string) =>
  world.boots.filter((boot) => boot.startsWith(`${sandboxId}#`))

layer(TestDatabase.layer, { excludeTestServices: true })("a host", (it) => {
  it.effect("joins, proves that a Sandbox boots there, and only then gets any", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_canary")
      let fails = 1
      host.world.intercept = (call) =>
        call === "provision" && fails-- > 0
          ? Effect.fail(new RuntimeUnavailable({ message: "No machine comes up." }))
          : Effect.void
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        const joining = yield* until(
          Effect.flatMap(Hosts, ({ find }) => find(host.id)),
          (row) => row?.reason !== null && row?.reason !== undefined
        )
        assert.strictEqual(joining?.state, "joining")
        assert.deepStrictEqual(joining?.reason, {
          code: "CANARY_FAILED",
          message: "No Sandbox boots there: No machine comes up."
        })
        assert.strictEqual(host.world.boots.length, 0)
        // Its next process does not wait until the proof is repeated.
        fails = 0
        host.boot = "another"
        yield* untilHost(host.id, "ready")
        // Nothing is left of it.
        assert.strictEqual(host.world.boots.length, 1)
        yield* until(
          Effect.sync(() => host.world.volumes.size),
          (left) => left === 0
        )
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        assert.deepStrictEqual(bootsOf(host, id), [`${id}#1`])
      }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
    })
  )

  it.effect(
    "that falls silent is suspect, then lost with its running Sandboxes; when it returns, only what should run runs",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const host = yield* WorldHost.make("host_silent")
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(host.live)
          yield* untilHost(host.id, "ready")
          const account = yield* newAccount
          const { accountId } = account
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(accountId, id, "running")
          host.isCut = true
          const lost = yield* untilHost(host.id, "lost")
          const stopped = yield* untilStatus(accountId, id, "stopped")
          assert.strictEqual(stopped.statusReason?.code, "HOST_LOST")
          // It has cost until the host was last heard: a lease and more before the host counted as lost.
          const sql = yield* SqlClient.SqlClient
          const [told] = yield* sql<{ readonly at: number; readonly seenAt: number }>`
            select at::float8 as at, (event ->> 'seenAt')::float8 as "seenAt" from transitions
            where actor_id = ${id} and event ->> 'type' = 'HOST_LOST'`
          assert.closeTo(told!.seenAt, lost.seenAt, 1000)
          assert.isAtLeast(told!.at - told!.seenAt, 2000)
          assert.isTrue(host.world.machines.has(id))
          const refused = yield* Effect.flip(start(accountId, id))
          assert.strictEqual(refused._tag, "SANDBOX_UNAVAILABLE")
          assert.deepStrictEqual((yield* statesOf(host.id)).slice(-2), ["suspect", "lost"])
          assert.isAtLeast(lost.seenAt, lost.joinedAt)

          host.isCut = false
          yield* untilHost(host.id, "ready")
          // Before it is ready: what runs there and should not has ended.
          assert.deepStrictEqual(
            [...host.world.machines.keys()].filter((it) => it === id),
            []
          )
          assert.isTrue(host.world.volumes.has(id))
          yield* start(accountId, id)
          yield* untilStatus(accountId, id, "running")
          assert.deepStrictEqual(bootsOf(host, id), [`${id}#1`, `${id}#2`])
        }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
      })
  )

  it.effect("that did not boot a Sandbox deletes its part of it, once the Sandbox has another host", () =>
    Effect.gen(function* () {
      yield* fresh
      const hosts = yield* Effect.forEach(["host_full_a", "host_full_b"], WorldHost.make)
      let refusing: WorldHost | null = null
      let isStuck = true
      let areReady = false
      for (const host of hosts) {
        host.world.intercept = (call, sandboxId) => {
          if (!areReady) return Effect.void
          if (call === "destroy" && isStuck) return Effect.fail(new RuntimeUnavailable({ message: "It is stuck." }))
          if (call !== "provision") return Effect.void
          refusing ??= host
          if (refusing !== host) return Effect.void
          host.world.volumes.add(sandboxId)
          return Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
        }
      }
      yield* Effect.gen(function* () {
        for (const host of hosts) yield* Effect.forkScoped(host.live)
        for (const { id } of hosts) yield* untilHost(id, "ready")
        areReady = true
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        assert.isTrue(refusing!.world.volumes.has(id))
        isStuck = false
        yield* until(
          Effect.sync(() => refusing!.world.volumes.has(id)),
          (is) => !is
        )
        assert.strictEqual((yield* (yield* Sandboxes).get(account.accountId, id)).status, "running")
        assert.strictEqual(hosts.flatMap((host) => bootsOf(host, id)).length, 1)
      }).pipe(Effect.scoped, Effect.provide(fleetService(hosts)))
    })
  )

  it.effect("that is silent for a moment goes on unchanged, with its running Sandboxes", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_moment")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        host.isSilent = true
        yield* untilHost(host.id, "suspect")
        host.isSilent = false
        yield* untilHost(host.id, "ready")
        assert.deepStrictEqual((yield* statesOf(host.id)).slice(-2), ["suspect", "ready"])
        assert.strictEqual((yield* (yield* Sandboxes).get(account.accountId, id)).status, "running")
        assert.deepStrictEqual(bootsOf(host, id), [`${id}#1`])
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], { ATOLL_HOST_LOST_AFTER_MS: "600000" })))
    })
  )

  it.effect("whose process is replaced joins again, and its Sandboxes go on", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_again")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        // It is refused while its predecessor could be alive.
        host.boot = "another"
        yield* until(statesOf(host.id), (states) => states.filter((state) => state === "ready").length === 2)
        assert.strictEqual((yield* (yield* Sandboxes).get(account.accountId, id)).status, "running")
        assert.deepStrictEqual(bootsOf(host, id), [`${id}#1`])
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], { ATOLL_HOST_LOST_AFTER_MS: "600000" })))
    })
  )

  it.effect("is drained: its Sandboxes are stopped, none is started or placed there until it is used again", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_drained")
      yield* Effect.gen(function* () {
        const hosts = yield* Hosts
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        yield* hosts.ask(host.id, "DRAIN")
        const stopped = yield* untilStatus(accountId, id, "stopped")
        assert.strictEqual(stopped.statusReason?.code, "HOST_DRAINING")
        const drained = yield* until(hosts.find(host.id), (row) => row?.reason?.code === "HOST_DRAINED")
        assert.deepInclude(drained, { state: "draining", wish: "draining", asked: null, sandboxes: 1, sandboxesUp: 0 })
        assert.strictEqual((yield* Effect.flip(start(accountId, id)))._tag, "SANDBOX_UNAVAILABLE")
        const nowhere = (yield* createIn(account, "nowhere")).sandbox
        yield* untilStatus(accountId, nowhere.id, "expired")
        yield* hosts.ask(host.id, "UNCORDON")
        yield* untilHost(host.id, "ready")
        yield* start(accountId, id)
        yield* untilStatus(accountId, id, "running")

        // The operator's wish outlasts its silence.
        yield* hosts.ask(host.id, "CORDON")
        yield* untilHost(host.id, "cordoned")
        host.isSilent = true
        yield* untilHost(host.id, "suspect")
        host.isSilent = false
        yield* untilHost(host.id, "cordoned")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], { ATOLL_HOST_LOST_AFTER_MS: "600000" })))
    })
  )

  it.effect("is removed for good: its Sandboxes are deleted without it, and it does not return", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_gone")
      yield* Effect.gen(function* () {
        const hosts = yield* Hosts
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        const { id: waiting } = (yield* createIn(account, "waiting")).sandbox
        for (const one of [id, waiting]) yield* untilStatus(accountId, one, "running")
        // Not while it is in use.
        yield* hosts.ask(host.id, "REMOVE")
        yield* until(hosts.find(host.id), (row) => row?.asked === null)
        assert.strictEqual((yield* hosts.find(host.id))?.state, "ready")

        host.isCut = true
        for (const one of [id, waiting]) yield* untilStatus(accountId, one, "stopped")
        const { remove, get } = yield* Sandboxes
        yield* Effect.forkChild(remove(accountId, waiting, request))
        yield* untilStatus(accountId, waiting, "deleting")
        yield* Effect.sleep(500)
        assert.strictEqual((yield* get(accountId, waiting)).status, "deleting")
        yield* hosts.ask(host.id, "REMOVE")
        yield* untilHost(host.id, "gone")
        yield* untilStatus(accountId, waiting, "deleted")
        yield* remove(accountId, id, request)
        yield* untilStatus(accountId, id, "deleted")
        host.isCut = false
        yield* Effect.sleep(500)
        assert.strictEqual((yield* hosts.find(host.id))?.state, "gone")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
    })
  )

  it.effect("with an empty folder does not turn Sandboxes of another host into lost ones", () =>
    Effect.gen(function* () {
      yield* fresh
      const old = yield* WorldHost.make("host_old")
      const young = yield* WorldHost.make("host_young")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(old.live)
        yield* untilHost(old.id, "ready")
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        const running = yield* untilStatus(account.accountId, id, "running")
        yield* Effect.forkScoped(young.live)
        yield* untilHost(young.id, "ready")
        // The reconciler compares it ten times a second.
        yield* Effect.sleep(1000)
        assert.deepStrictEqual(yield* (yield* Sandboxes).get(account.accountId, id), running)
        assert.deepStrictEqual(bootsOf(old, id), [`${id}#1`])
        assert.isTrue(old.world.machines.has(id))
      }).pipe(Effect.scoped, Effect.provide(fleetService([old, young])))
    })
  )

  it.effect("is believed about its own Sandboxes only", () =>
    Effect.gen(function* () {
      yield* fresh
      const liar = yield* WorldHost.make("host_liar")
      const honest = yield* WorldHost.make("host_honest")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(honest.live)
        yield* untilHost(honest.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        // It reports that it runs it, in a later generation, and that it died.
        liar.lies = [{ sandboxId: id, state: "running", generation: 7 }]
        yield* Effect.forkScoped(liar.live)
        yield* until(
          Effect.flatMap(Hosts, ({ find }) => find(liar.id)),
          (row) => row?.state === "joining"
        )
        const reason = { code: "CRASHED" as const, message: publicText`A lie.` }
        for (let times = 0; times < 5; times++) {
          yield* PubSub.publish(liar.world.downs, { type: "down", sandboxId: id, generation: 1, reason })
          yield* Effect.sleep(100)
        }
        // A host that does not end it is not used.
        assert.strictEqual((yield* (yield* Hosts).find(liar.id))?.state, "joining")
        assert.deepInclude(yield* (yield* Sandboxes).get(accountId, id), { status: "running", generation: 1 })
        assert.isTrue(honest.world.volumes.has(id))
      }).pipe(Effect.scoped, Effect.provide(fleetService([liar, honest])))
    })
  )
})
