/**
 * A fleet is upgraded while clients work, in the order of deploy/README.md: the services one after the other, of which
 * the first one changes the database under the other, and then the hosts. A client that retries once does not notice
 * the services' upgrade; Sandboxes and their operations do not notice the hosts'.
 * @source deploy/README.md "Upgrading a fleet"
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { isOtherVersion } from "../../support/described/otherVersions.ts"
import { Fleet } from "../../support/fleet/Fleet.ts"
import type { HostProcess } from "../../support/fleet/HostProcess.ts"
import { skipped } from "../../support/host/namespace/TestHost.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { Members } from "../cluster/Members.ts"
import { WorkingClients } from "../cluster/WorkingClients.ts"
import { commitBeforeMigration, sourcesOf } from "../setup/EarlierVersion.ts"
import { refusal } from "./refusal.ts"
import { soon } from "./soon.ts"

const sandboxes = 3
/** How long both versions serve beside each other. */
const besideMs = 3_000
const pageBytes = 262_144
const counting = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done"

/** Its last number; fails where a number is missing, doubled or out of order. */
const countedBy = async (service: ServiceProcess, operation: string): Promise<number> => {
  const { status, body } = await service.ask("GET", `${operation}/output?stream=stdout&offset=0&limit=${pageBytes}`)
  assert.strictEqual(status, 200, JSON.stringify(body))
  assert.isFalse(body.truncated)
  const lines = Buffer.from(body.data, "base64").toString().split("\n").slice(0, -1)
  for (const [at, line] of lines.entries()) assert.strictEqual(line, String(at))
  return lines.length
}

const aliveOn = (hosts: ReadonlyArray<HostProcess>) =>
  hosts.map(({ alive }) => alive.map(({ sandboxId, generation }) => `${sandboxId}#${generation}`).toSorted())

describe.skipIf(refusal !== null)("an upgrade of a fleet", () => {
  it.live.skipIf(skipped(commitBeforeMigration.obstacle))(
    "fails no request that is retried once, and harms no Sandbox and no operation",
    () =>
      Effect.gen(function* () {
        const source = join(yield* sourcesOf(commitBeforeMigration), "src/main.ts")
        const fleet = yield* Fleet.make({ source })
        const { services, hosts } = fleet
        const sql = yield* SqlClient.SqlClient
        const context = yield* Effect.context<SqlClient.SqlClient>()
        /** Ready hosts, each by its present process. */
        const ready = () =>
          Effect.runPromiseWith(context)(
            sql<{ readonly boot: string }>`
              select h.boot from hosts h join actors a on a.id = h.id where a.status = 'ready' and h.boot <> ''`
          ).then((rows) => rows.map(({ boot }) => boot))
        const [one, other] = services as [ServiceProcess, ServiceProcess]
        for (const { port } of services) isOtherVersion(port)
        yield* Effect.promise(async () => {
          const members = Members.of(services)
          await members.makeSandboxes(sandboxes)
          const path = `/sandboxes/${members.sandboxes[0]}`
          const begun = await one.ask("POST", `${path}/operations`, { argv: ["sh", "-c", counting] }, "count")
          assert.strictEqual(begun.status, 202, JSON.stringify(begun.body))
          const count = `${path}/operations/${begun.body.operation.id}`
          const before = aliveOn(hosts)
          assert.strictEqual(before.flat().length, sandboxes)

          const clients = new WorkingClients(members, { tries: 2, pauseMs: 0 })
          clients.start(sandboxes)
          try {
            for (const service of services) {
              await service.stop()
              await service.start()
              await sleep(besideMs)
            }
          } finally {
            await clients.stop()
          }
          assert.isAbove(await clients.check(), 10)
          assert.deepStrictEqual(clients.faults, [])
          assert.deepStrictEqual(aliveOn(hosts), before)

          // The hosts still run the older version.
          const { workspace } = (await other.ask("POST", "/workspaces", { name: "cluster" }, "w")).body
          const request = { workspaceId: workspace.id, name: "late", networkEnabled: false }
          const late = await other.ask("POST", "/sandboxes?wait=running", request, "late")
          assert.strictEqual(late.body.sandbox?.status, "running", JSON.stringify(late.body))
          const own = `/sandboxes/${late.body.sandbox.id}`
          const written = await one.bytes("PUT", `${own}/files/content?path=/workspace/late`, Buffer.from("late"))
          assert.strictEqual(written.status, 204, written.bytes.toString())
          assert.strictEqual((await other.ask("POST", `${own}/stop`)).status, 200)
          const again = await one.ask("POST", `${own}/start?wait=running`)
          assert.strictEqual(again.body.sandbox?.status, "running", JSON.stringify(again.body))
          const read = await other.ask("POST", `${own}/execute`, { argv: ["cat", "/workspace/late"] })
          assert.strictEqual(read.body.result?.stdout, "late", JSON.stringify(read.body))
          assert.strictEqual((await one.ask("DELETE", own)).status, 204)

          for (const host of hosts) {
            const boots = await ready()
            assert.strictEqual(boots.length, hosts.length)
            const counted = await countedBy(other, count)
            await host.stop()
            host.start()
            const missing = await soon(async () => {
              const now = await ready()
              return now.length === hosts.length && now.some((boot) => !boots.includes(boot)) ? [] : [fleet.log]
            })
            assert.deepStrictEqual(missing, [])
            assert.deepStrictEqual(aliveOn(hosts), before)
            const waits = await soon(async () => {
              const now = await countedBy(one, count)
              return now > counted + 20 ? [] : [`It has counted to ${now}, and had to ${counted}`]
            })
            assert.deepStrictEqual(waits, [])
          }
          await members.everyActorAnswers(other, "upgraded")
          assert.strictEqual((await one.ask("POST", `${count}/cancel`)).body.operation?.status, "cancelled")
          for (const sandbox of members.sandboxes) {
            const { status, generation } = (await one.ask("GET", `/sandboxes/${sandbox}`)).body.sandbox
            assert.deepStrictEqual([status, generation], ["running", 1])
          }
          assert.deepStrictEqual(fleet.collapsed, [])
          assert.deepStrictEqual(await fleet.retire(), [])
        })
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layerEmpty)),
    400_000
  )
})
