/** `atoll hosts`, beside a running service and without one. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { countedStates, runtimelessStates } from "../../../src/sandbox/sandboxStates.ts"
import { beginFleet } from "../../../src/store/fleetBond.ts"
import { atoll, documentOf, withinMs } from "../../support/commandLine.ts"
import { fleetService, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("atoll hosts", (it) => {
  it.effect(
    "reports that there is only this host where none has joined",
    () =>
      Effect.gen(function* () {
        const { code, stdout, stderr } = yield* atoll("hosts", "list")
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.match(stdout, /^No host has joined\. With ATOLL_ROLE=all there is only this one/)
        const unknown = yield* atoll("hosts", "drain", "host_nobody")
        assert.strictEqual(unknown.code, 1)
        assert.match(unknown.stderr, /There is no host "host_nobody"\. atoll hosts list shows them\./)
      }),
    withinMs
  )

  it.effect(
    "shows a host's state, cordons and drains it, and removes it only when nothing runs there",
    () =>
      Effect.gen(function* () {
        const host = yield* WorldHost.make("host_0123456789abcdef01234567")
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(host.live)
          yield* untilHost(host.id, "ready")
          const account = yield* newAccount
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(account.accountId, id, "running")

          const { stdout } = yield* atoll("hosts", "list")
          const [header, row] = stdout.split("\n")
          assert.match(header!, /^ID +STATE +KIND +SANDBOXES +VCPUS +MEMORY GIB +DISK GIB +SEEN +LABEL +REMARK$/)
          assert.match(
            row!,
            /^host_\w+ +ready +namespace +1 up of 1 +\d+ of 100 +[\d.]+ of 1024 +[\d.]+ of 1024 +\d+ s ago +the folder of host_\w+ +-$/
          )

          // A host whose label is another one's id does not shadow that one.
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            insert into hosts (id, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
              suspends, network_filtered, joined_at, seen_at)
            values ('host_liar', ${host.id}, 'nowhere', 1, '', '0', 'simulated', 'namespace', 0, 0, 0, 0, false, false, 0, 0)`
          const meant = yield* documentOf("hosts", "cordon", host.id, "--json")
          assert.deepInclude(meant.host, { id: host.id, state: "cordoned" })
          yield* sql`delete from hosts where id = 'host_liar'`

          const cordoned = yield* documentOf("hosts", "cordon", "host_0123", "--json")
          assert.deepInclude(cordoned.host, { id: host.id, state: "cordoned", wish: "cordoned", asked: null })
          const inUse = yield* atoll("hosts", "remove", host.id)
          assert.strictEqual(inUse.code, 1)
          assert.match(inUse.stderr, /has 1 Sandbox: drain it first\. --force removes it anyway/)
          const drained = yield* documentOf("hosts", "drain", host.id, "--json")
          assert.strictEqual(drained.host.state, "draining")
          yield* untilStatus(account.accountId, id, "stopped")

          const removed = yield* atoll("hosts", "remove", host.id, "--force")
          assert.deepStrictEqual([removed.code, removed.stderr], [0, ""])
          assert.match(
            removed.stdout,
            /is permanently removed\. 1 Sandbox lived there: .* deleting them takes effect immediately/
          )
          yield* untilHost(host.id, "gone")
          assert.deepStrictEqual((yield* documentOf("hosts", "list", "--json")).hosts, [])
          const again = yield* atoll("hosts", "uncordon", host.id)
          assert.match(again.stderr, /was removed\. A machine joins again as a new host, with an empty folder\./)
        }).pipe(Effect.scoped, Effect.provide(fleetService([host], { ATOLL_HOST_LEASE_MS: "60000" })))
      }),
    withinMs
  )

  it.effect(
    "removes the host of a data folder that never joined, and its reservations",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const here = "host_of_all"
        yield* sql`update installation set is_fleet = false, host_id = ${here}, host_label = 'the folder of all'`
        const account = yield* newAccount
        const { accountId } = account
        yield* Effect.gen(function* () {
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(accountId, id, "expired")
          // As one of an Atoll that did all.
          yield* sql`update actors set snapshot = jsonb_set(snapshot, '{value}', '"stopped"') where id = ${id}`
          yield* beginFleet(sql, { counted: countedStates, runtimeless: runtimelessStates })
          const refused = yield* atoll("hosts", "remove", here)
          assert.strictEqual(refused.code, 1)
          assert.match(
            refused.stderr,
            /has never joined, and 1 Sandbox may live there: start a host on that data folder\. --force/
          )
          const removed = yield* atoll("hosts", "remove", here, "--force")
          assert.deepStrictEqual([removed.code, removed.stderr], [0, ""])
          yield* untilHost(here, "gone")
          yield* (yield* Sandboxes).remove(accountId, id, request)
          yield* untilStatus(accountId, id, "deleted")
          assert.deepStrictEqual(yield* sql`select 1 from host_promises where host_id = ${here}`, [])
        }).pipe(Effect.scoped, Effect.provide(fleetService([])))
      }),
    withinMs
  )

  it.effect(
    "stores a command until a service runs",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const host = yield* WorldHost.make("host_wished")
        yield* Effect.gen(function* () {
          yield* Effect.forkScoped(host.live)
          yield* untilHost(host.id, "ready")
        }).pipe(Effect.scoped, Effect.provide(fleetService([host], { ATOLL_HOST_LEASE_MS: "60000" })))
        const { code, stdout } = yield* atoll("hosts", "cordon", host.id)
        assert.strictEqual(code, 0)
        assert.match(stdout, /No service has received it within 3 s: it takes effect as soon as one runs\./)
        assert.deepStrictEqual(yield* sql`select asked from hosts where id = ${host.id}`, [{ asked: "CORDON" }])
        yield* untilHost(host.id, "cordoned").pipe(
          Effect.provide(fleetService([host], { ATOLL_HOST_LEASE_MS: "60000" }))
        )
      }),
    withinMs
  )
})
