/** A fleet of real processes whose database, or one of whose services, is cut off. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { assertOutageLines } from "../../support/assertOutageLines.ts"
import type { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { Fleet } from "../../support/fleet/Fleet.ts"
import { heardFrom } from "../../support/heardFrom.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { untilFound } from "../../support/until.ts"
import { refusal } from "./refusal.ts"

const outageMs = 10_000

describe.skipIf(refusal !== null)("a fleet", () => {
  describe("of real processes", () => {
    it.live(
      "logs two lines in each of its processes while its database is gone for a while",
      () =>
        Effect.gen(function* () {
          const fleet = yield* Fleet.make({ environment: { ATOLL_LOG_LEVEL: "info" } })
          yield* Effect.promise(async () => {
            const services = fleet.services.map(heardFrom)
            const hosts = fleet.hosts.map(heardFrom)
            await fleet.net.isolate("database")
            await sleep(outageMs)
            await fleet.net.heal()
            await untilFound(() => services.every((lines) => lines.some((line) => line.includes("serves again"))))
            await untilFound(() => hosts.every((lines) => lines.some((line) => line.includes("has joined"))))
            await fleet.untilReady()
            for (const lines of services) assertOutageLines(lines)
            for (const lines of hosts) {
              const text = lines.join("\n")
              assert.strictEqual(lines.length, 2, text)
              assert.match(lines[0]!, /^WARN This host is with no service now\. The service \S+ .+\.$/, text)
              assert.match(
                lines[1]!,
                /^INFO This host, \S+, has joined its fleet by the service \S+, \d+ s after it was with none: \d+ attempts failed$/,
                text
              )
            }
          })
        }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
      180_000
    )

    const ways: ReadonlyArray<readonly [string, (fleet: Fleet, name: string) => Promise<void>]> = [
      [
        "is cut off from the other services",
        async ({ net }, name) => {
          for (const other of ["service-0", "service-1"]) await net.cut(name, other)
        }
      ],
      ["has another secret than the others while it runs", async (fleet, name) => fleet.estrange(name)],
      [
        "starts with another secret",
        async (fleet, name) => {
          const service = fleet.services[2]!
          await service.kill()
          fleet.estrange(name)
          await service.start()
        }
      ]
    ]
    it.live(
      `serves every request by the other services while one service ${ways.map(([what]) => what).join(", ")}, and is whole again after each`,
      () =>
        Effect.gen(function* () {
          const fleet = yield* Fleet.make({
            services: 3,
            environment: { ATOLL_LOG_LEVEL: "info", ATOLL_SANDBOXES_PER_ACCOUNT: "100" }
          })
          yield* Effect.promise(async () => {
            const [one, two, three] = fleet.services as [ServiceProcess, ServiceProcess, ServiceProcess]
            const heard = fleet.services.map(heardFrom)
            const about = (words: string) => heard.map((lines) => lines.filter((line) => line.includes(words)).length)
            const readiness = async ({ origin }: ServiceProcess) => {
              const answer = await fetch(`${origin}/readyz`)
              const { reason } = (await answer.json()) as { readonly reason: string | null }
              return { status: answer.status, reason }
            }
            await untilFound(async () =>
              (await Promise.all(fleet.services.map(readiness))).every(({ status }) => status === 200)
            )
            const { body } = await one.ask("POST", "/workspaces", { name: "reach" }, "reach")
            const workspaceId: string = body.workspace.id
            let made = 0
            /** Sandboxes of all shards are made, stopped and deleted, by a service. */
            const allWorks = async (service: ServiceProcess) => {
              const ids = await Promise.all(
                Array.from({ length: 8 }, async () => {
                  const name = `${workspaceId}-${made++}`
                  const asked = { workspaceId, name, networkEnabled: false }
                  const answer = await service.ask("POST", "/sandboxes", asked, name)
                  assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
                  return answer.body.sandbox.id as string
                })
              )
              for (const [action, end] of [
                ["stop", "stopped"],
                ["delete", "deleted"]
              ] as const) {
                for (const id of ids) {
                  const answer = await (action === "stop"
                    ? service.ask("POST", `/sandboxes/${id}/stop`)
                    : service.ask("DELETE", `/sandboxes/${id}`))
                  assert.isBelow(answer.status, 300, JSON.stringify(answer.body))
                }
                const statusOf = async (id: string) =>
                  (await service.ask("GET", `/sandboxes/${id}`)).body.sandbox?.status
                await untilFound(async () =>
                  (await Promise.all(ids.map(statusOf))).every((it) => it === end || it === undefined)
                )
              }
            }
            await allWorks(three)
            for (const [index, [what, befall]] of ways.entries()) {
              const times = index + 1
              await befall(fleet, "service-2")
              await untilFound(async () => (await readiness(three).catch(() => null))?.status === 503)
              await untilFound(() => about("owns no actors").every((count) => count === times))
              assert.match(
                (await readiness(three)).reason ?? "",
                /^The worker "cluster reach" has waited for the other processes of the cluster to reach this one since /,
                what
              )
              for (const service of [one, two]) {
                assert.strictEqual((await readiness(service)).status, 200, what)
                await allWorks(service)
              }
              assert.deepStrictEqual(about("owns no actors"), [times, times, times], what)
              await fleet.mend()
              await untilFound(async () => (await readiness(three)).status === 200)
              await allWorks(three)
              assert.deepStrictEqual(about("owns no actors"), [times, times, times], what)
            }
            for (const service of [one, two]) await allWorks(service)
          })
        }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer)),
      600_000
    )
  })
})
