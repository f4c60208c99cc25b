/** Faults of a fleet's hosts, and the recovery of its services. */

import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, PubSub, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { HostActors } from "../../../src/fleet/HostActors.ts"
import { HostBoots } from "../../../src/fleet/HostBoots.ts"
import { HostJoins } from "../../../src/fleet/HostJoins.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { fleetService, statesOf, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, start, untilStatus } from "../../support/TestSandboxes.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"
import { WorldFleet, wrongPromises } from "./WorldFleet.ts"

const patient = { ATOLL_HOST_LEASE_MS: "60000" }

const spec = { generation: 1, vcpus: 1, memoryBytes: 1, volumeBytes: 1, networkEnabled: false }

layer(TestDatabase.layer, { excludeTestServices: true })("a fleet", (it) => {
  it.effect("knows a joined host by its key, and refuses another process that names its id", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make(`host_${"1".repeat(24)}`)
      yield* Effect.gen(function* () {
        const joins = yield* HostJoins
        const [own, another] = ["a".repeat(64), "b".repeat(64)]
        const { description } = host
        const { hostId, boot } = description
        yield* joins.join(description, own)
        yield* joins.leave({ hostId, boot })
        yield* untilHost(hostId, "suspect")
        const address = { host: "192.0.2.1", port: 1 }
        for (const key of [another, null]) {
          const refused = yield* Effect.flip(joins.join({ ...description, boot: "theirs", address }, key))
          assert.isTrue(refused.isFinal)
          assert.match(refused.message, /has the id of a host of this fleet, and not its key/)
          assert.notInclude(refused.message, own)
        }
        assert.strictEqual((yield* (yield* Hosts).find(hostId))!.addressHost, description.address.host)
        yield* joins.join({ ...description, boot: "next" }, own)
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
    })
  )

  it.effect("binds a certificate to the one host that joined with it, until that host is removed", () =>
    Effect.gen(function* () {
      yield* fresh
      const hosts = yield* Effect.forEach(["3", "4"], (digit) => WorldHost.make(`host_${digit.repeat(24)}`))
      const [first, second] = hosts.map(({ description }) => description)
      yield* Effect.gen(function* () {
        const joins = yield* HostJoins
        yield* joins.join(first!, "a".repeat(64), "rack-1")
        yield* joins.join(first!, "a".repeat(64), "rack-1")
        const refused = yield* Effect.flip(joins.join(second!, "b".repeat(64), "rack-1"))
        assert.include(refused.message, `is for rack-1, which is the host ${first!.hostId}`)
        assert.isNull(yield* (yield* Hosts).find(second!.hostId))
        // The host's label may change when its certificate is renewed.
        yield* joins.join(first!, "a".repeat(64), "rack-one")
        yield* joins.join(second!, "b".repeat(64), "rack-1")
        assert.include(
          (yield* Effect.flip(joins.join(second!, "b".repeat(64), "rack-one"))).message,
          "atoll hosts remove"
        )
        yield* (yield* Hosts).ask(first!.hostId, "REMOVE_FORCED")
        yield* untilHost(first!.hostId, "gone")
        yield* joins.join(second!, "b".repeat(64), "rack-one")
      }).pipe(Effect.scoped, Effect.provide(fleetService(hosts, patient)))
    })
  )

  it.effect(
    "refuses a folder of another database, another driver than its Sandboxes have, and a second process of a host",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const host = yield* WorldHost.make("host_refused")
        yield* Effect.gen(function* () {
          const joins = yield* HostJoins
          const { description } = host
          const refused = (changes: Partial<typeof description>) =>
            Effect.flip(joins.join({ ...description, ...changes }))
          const foreign = yield* refused({ installation: "another" })
          assert.isTrue(foreign.isFinal)
          assert.match(
            foreign.message,
            /belongs to another database, whose Sandboxes would be destroyed here as unknown/
          )

          const { installation, beatEveryMs } = yield* joins.join(description)
          assert.strictEqual(beatEveryMs, 12_000)
          // The same join again changes nothing.
          assert.strictEqual((yield* joins.join({ ...description, installation })).installation, installation)
          const second = yield* refused({ boot: "second" })
          assert.isFalse(second.isFinal)
          assert.match(second.message, /Another process of this host sent a beat \d+ ms ago/)
          const { hostId, capacity } = description
          const beat = (boot: string) => joins.beat({ hostId, boot, capacity, networkRefused: null })
          assert.strictEqual((yield* Effect.flip(beat("second")))._tag, "HostUnknown")
          yield* beat(description.boot)
          // It leaves in order: the next one need not wait.
          yield* joins.leave({ hostId, boot: description.boot })
          yield* untilHost(hostId, "suspect")
          yield* joins.join({ ...description, boot: "second" })
          assert.strictEqual((yield* Effect.flip(beat(description.boot)))._tag, "HostUnknown")
          yield* untilHost(hostId, "ready")

          const account = yield* newAccount
          yield* untilStatus(account.accountId, (yield* createIn(account)).sandbox.id, "running")
          yield* joins.leave({ hostId, boot: "second" })
          const other = yield* refused({ driver: "qemu", boot: "third" })
          assert.isTrue(other.isFinal)
          assert.match(other.message, /were made with the driver simulated, and this process has qemu/)
        }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
      })
  )

  it.effect("lets a present host move to another service, whichever service owns its actor", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make(`host_${"5".repeat(24)}`)
      const fleet = new WorldFleet()
      yield* fleet.add({ id: host.id })
      const away = Effect.die(new Error("Its owner does not answer."))
      const unreachable = HostActors.of({ ensure: () => away, joined: () => away, tell: () => away })
      yield* Effect.gen(function* () {
        const joins = yield* HostJoins
        for (const state of ["joining", "ready", "cordoned", "draining"]) {
          yield* fleet.becomes(host.id, state)
          yield* joins.join({ ...host.description, boot: "boot" })
        }
        // Its actor has to receive the join.
        for (const state of ["suspect", "lost"]) {
          yield* fleet.becomes(host.id, state)
          assert.isTrue(Exit.isFailure(yield* Effect.exit(joins.join({ ...host.description, boot: "boot" }))), state)
        }
      }).pipe(
        Effect.provide(HostJoins.layer),
        Effect.provideService(HostActors, unreachable),
        Effect.provide(testSettings(patient))
      )
    })
  )

  it.effect("does not place on a host where Sandboxes do not boot", () =>
    Effect.gen(function* () {
      yield* fresh
      const sql = yield* SqlClient.SqlClient
      const host = yield* WorldHost.make("host_doubtful")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        host.world.intercept = (call) =>
          call === "provision" ? Effect.fail(new RuntimeUnavailable({ message: "No machine comes up." })) : Effect.void
        const account = yield* newAccount
        for (const key of ["one", "two", "three"]) yield* createIn(account, key)
        yield* untilHost(host.id, "joining")
        const [event] = yield* sql<{ readonly reason: unknown }>`
          select event -> 'reason' as reason from transitions where actor_id = ${host.id} and event ->> 'type' = 'BOOTS_FAIL'`
        assert.deepStrictEqual(event?.reason, {
          code: "BOOTS_FAIL",
          message: "3 Sandboxes in a row did not boot there: No machine comes up."
        })
        assert.notInclude(host.world.boots.slice(1).join(), "sbx_")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], { ATOLL_HOST_LEASE_MS: "60000" })))
    })
  )

  it.effect(
    "counts for each host the Sandboxes that did not boot, over all services and not the attempts, until one boots",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const fleet = new WorldFleet()
        yield* fleet.add({ id: "host_a" })
        yield* fleet.add({ id: "host_b" })
        const own = Effect.map(Layer.build(Layer.fresh(HostBoots.layer)), (context) => Context.get(context, HostBoots))
        const [one, two] = [yield* own, yield* own]
        const verdicts = Effect.map(Effect.all([Queue.clear(one.verdicts), Queue.clear(two.verdicts)]), (said) =>
          said.flat()
        )
        for (let times = 0; times < 5; times++) yield* one.failed("host_a", "sbx_1", "m")
        yield* two.failed("host_a", "sbx_2", "m")
        yield* two.worked("host_a")
        yield* one.failed("host_a", "sbx_3", "m")
        yield* two.failed("host_a", "sbx_4", "m")
        yield* one.failed("host_b", "sbx_5", "m")
        assert.deepStrictEqual(yield* verdicts, [])
        yield* one.failed("host_a", "sbx_5", "why")
        assert.deepStrictEqual(yield* verdicts, [{ type: "fail", hostId: "host_a", message: "why" }])
        yield* two.worked("host_a")
        yield* one.worked("host_a")
        assert.deepStrictEqual(yield* verdicts, [{ type: "work", hostId: "host_a" }])
        yield* one.failed("host_gone", "sbx_1", "m")
        yield* one.worked("host_gone")
        assert.deepStrictEqual(yield* verdicts, [])
      }).pipe(Effect.scoped)
  )

  it.effect(
    "never starts a Sandbox empty when its volume is missing on its host, and starts it when the volume is back",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const host = yield* WorldHost.make("host_emptied")
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(host.live)
          yield* untilHost(host.id, "ready")
          const account = yield* newAccount
          const { accountId } = account
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(accountId, id, "running")
          yield* simulatedRuntime(host.world).destroy(id)
          assert.strictEqual((yield* untilStatus(accountId, id, "stopped")).statusReason?.code, "LOST")
          const missing = Effect.map(
            Effect.flatMap(Hosts, ({ find }) => find(host.id)),
            (row) => row?.sandboxesMissing
          )
          yield* until(missing, (count) => count === 1)
          const refused = yield* Effect.flip(start(accountId, id))
          assert.match(refused.message, /The volume of this Sandbox is missing on its host/)
          host.world.volumes.add(id)
          yield* until(missing, (count) => count === 0)
          yield* start(accountId, id)
          yield* untilStatus(accountId, id, "running")
        }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
      })
  )

  it.effect(
    "goes on where a service ended: its hosts are supervised, and a Sandbox that died meanwhile was alive at their last contact",
    () =>
      Effect.gen(function* () {
        yield* fresh
        const sql = yield* SqlClient.SqlClient
        const host = yield* WorldHost.make("host_attended")
        const { accountId, ids } = yield* Effect.gen(function* () {
          yield* Effect.forkScoped(host.live)
          yield* untilHost(host.id, "ready")
          const account = yield* newAccount
          const ids: Array<string> = []
          for (const key of ["lives", "dies", "deleted"]) {
            const { id } = (yield* createIn(account, key)).sandbox
            yield* untilStatus(account.accountId, id, "running")
            ids.push(id)
          }
          const heard = Effect.map(
            sql<{ readonly at: string | null }>`select heard_at::text as at from hosts where id = ${host.id}`,
            ([row]) => row!.at
          )
          yield* until(heard, (at) => at !== null)
          return { accountId: account.accountId, ids }
        }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
        const [lives, dies, deleted] = ids as [string, string, string]

        // While no service supervises it: a machine ends, a Sandbox is forgotten, a canary is left behind.
        const endedAt = Date.now()
        yield* Effect.sleep(50)
        yield* simulatedRuntime(host.world).stop(dies, 1)
        yield* sql`delete from actors where id = ${deleted}`
        yield* simulatedRuntime(host.world).provision({ ...spec, sandboxId: "sbx_canary" })

        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(host.live)
          yield* untilStatus(accountId, dies, "stopped")
          const [down] = yield* sql<{ readonly seenAt: number }>`
          select (event ->> 'seenAt')::float8 as "seenAt" from transitions where actor_id = ${dies} and event ->> 'type' = 'RUNTIME_DOWN'`
          assert.isAtMost(down!.seenAt, endedAt)
          assert.strictEqual((yield* (yield* Sandboxes).get(accountId, lives)).status, "running")
          yield* until(
            Effect.sync(() => [...host.world.volumes].toSorted()),
            (there) => there.join() === [lives, dies].toSorted().join()
          )
          yield* until(wrongPromises, (wrong) => wrong.length === 0)
          assert.deepStrictEqual(
            host.world.boots.filter((boot) => boot.startsWith(lives)),
            [`${lives}#1`]
          )
        }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
      })
  )

  it.effect("trusts a host for a while that no service could hear", () =>
    Effect.gen(function* () {
      yield* fresh
      const sql = yield* SqlClient.SqlClient
      const host = yield* WorldHost.make("host_unheard")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
      // The clock shows an hour later.
      const hourMs = 3_600_000
      yield* sql`update hosts set seen_at = seen_at - ${BigInt(hourMs)} where id = ${host.id}`
      yield* sql`
        update actors set due_at = due_at - ${BigInt(hourMs)},
          deadlines = jsonb_set(deadlines, '{lease,at}', to_jsonb((deadlines #>> '{lease,at}')::int8 - ${BigInt(hourMs)}::int8)),
          snapshot = jsonb_set(snapshot, '{context,seenAt}', to_jsonb((snapshot #>> '{context,seenAt}')::int8 - ${BigInt(hourMs)}::int8))
        where id = ${host.id}`
      yield* Effect.gen(function* () {
        // The check comes before it can report.
        yield* until(
          sql`select 1 from transitions where actor_id = ${host.id} and event ->> 'type' = 'LEASE_DUE'`,
          (looks) => looks.length > 0
        )
        yield* Effect.sleep(300)
        yield* Effect.forkScoped(host.live)
        yield* until(
          sql`select 1 from transitions where actor_id = ${host.id} and event ->> 'type' = 'SEEN'`,
          (looks) => looks.length > 0
        )
        assert.notInclude(yield* statesOf(host.id), "suspect")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
    })
  )

  it.effect("judges a host's silence independently of the clock of the service that hears it", () =>
    Effect.gen(function* () {
      yield* fresh
      const sql = yield* SqlClient.SqlClient
      const behind = yield* WorldHost.make("host_behind")
      const ahead = yield* WorldHost.make("host_ahead")
      yield* Effect.gen(function* () {
        // The services that hear them are not the one that checks.
        const clocks = [new ShiftedClock(), new ShiftedClock()] as const
        yield* Effect.forkScoped(Effect.provideService(behind.live, Clock.Clock, clocks[0]))
        yield* Effect.forkScoped(Effect.provideService(ahead.live, Clock.Clock, clocks[1]))
        yield* untilHost(behind.id, "ready")
        yield* untilHost(ahead.id, "ready")
        clocks[0].shiftMs = -3_600_000
        clocks[1].shiftMs = 3_600_000
        for (const { id } of [behind, ahead]) {
          yield* until(
            sql`select 1 from transitions where actor_id = ${id} and event ->> 'type' = 'SEEN'`,
            (looks) => looks.length >= 2
          )
          const strange = yield* sql`
            select event from transitions where actor_id = ${id} and abs((event ->> 'seenAt')::float8 - at) > 600000`
          assert.deepStrictEqual(strange, [])
        }
        ahead.isCut = true
        yield* untilHost(ahead.id, "lost")
        ahead.isCut = false
        yield* untilHost(ahead.id, "ready")
      }).pipe(Effect.scoped, Effect.provide(fleetService([behind, ahead])))
    })
  )

  it.effect("samples Sandboxes of other hosts while one host does not answer", () =>
    Effect.gen(function* () {
      yield* fresh
      const [mute, honest] = [yield* WorldHost.make("host_mute"), yield* WorldHost.make("host_honest")]
      mute.isSecretive = true
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(mute.live)
        yield* Effect.forkScoped(honest.live)
        yield* untilHost(mute.id, "ready")
        yield* untilHost(honest.id, "ready")
        const account = yield* newAccount
        const isOn = ({ world }: WorldHost, id: string) => world.machines.has(id)
        const ids: Array<string> = []
        while (!ids.some((id) => isOn(mute, id)) || !ids.some((id) => isOn(honest, id))) {
          const { id } = (yield* createIn(account, `k${ids.length}`)).sandbox
          yield* untilStatus(account.accountId, id, "running")
          ids.push(id)
        }
        const theirs = ids.filter((id) => isOn(honest, id))
        const before = honest.sampled.length
        yield* until(
          Effect.sync(() => honest.sampled.length - before),
          (times) => times > 3 * theirs.length
        )
        assert.deepStrictEqual([...new Set(honest.sampled)].toSorted(), theirs.toSorted())
      }).pipe(
        Effect.scoped,
        Effect.provide(fleetService([mute, honest], { ...patient, ATOLL_TELEMETRY_INTERVAL_MS: "50" }))
      )
    })
  )

  it.effect("stores reports of a host that repeats itself no faster than they can matter", () =>
    Effect.gen(function* () {
      yield* fresh
      const sql = yield* SqlClient.SqlClient
      const host = yield* WorldHost.make("host_undecided")
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        const reason = { code: "HOST_FULL" as const, message: publicText`Now it is.` }
        const began = performance.now()
        for (let times = 0; times < 500; times++) {
          yield* PubSub.publish(host.world.stalls, { type: "stalled", sandboxId: id, generation: 1, reason })
          yield* PubSub.publish(host.world.stalls, { type: "resumed", sandboxId: id, generation: 1 })
        }
        const told = Effect.map(
          sql`select 1 from transitions where actor_id = ${id} and event ->> 'type' in ('RUNTIME_STALLED', 'RUNTIME_RESUMED')`,
          ({ length }) => length
        )
        yield* until(told, (count) => count > 1)
        const count = yield* told
        assert.isAtMost(count, 2 + (performance.now() - began) / 1000)
      }).pipe(Effect.scoped, Effect.provide(fleetService([host], patient)))
    })
  )
})
