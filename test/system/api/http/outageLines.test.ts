/**
 * Each process logs two lines for an outage of the database, under any load: one when it begins, and one when it ends.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertOutageLines } from "../../../support/assertOutageLines.ts"
import { ServiceProcess } from "../../../support/crash/ServiceProcess.ts"
import { DatabaseLink } from "../../../support/DatabaseLink.ts"
import { heardFrom } from "../../../support/heardFrom.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const outageMs = 10_000

describe("an outage of the database", () => {
  const kinds: ReadonlyArray<readonly [string, (link: DatabaseLink) => void, (link: DatabaseLink) => Promise<void>]> = [
    ["that refuses connections", (link) => link.cut(), (link) => link.mend()],
    ["that is silent", (link) => link.silence(), async (link) => link.speak()]
  ]
  for (const [name, begin, end] of kinds) {
    it.live(
      `${name} is two lines of each process under load`,
      () =>
        Effect.gen(function* () {
          const database = yield* TestDatabase
          const link = yield* DatabaseLink.open()
          const services = yield* Effect.acquireRelease(
            Effect.promise(() =>
              ServiceProcess.cluster(2, {
                DATABASE_URL: link.urlOf(database.name),
                ATOLL_RUNTIME: "simulated",
                ATOLL_LOG_LEVEL: "info",
                ATOLL_RECONCILE_INTERVAL_MS: "100",
                ATOLL_TELEMETRY_INTERVAL_MS: "1000"
              })
            ),
            (all) =>
              Effect.promise(() => Promise.all(all.map((service) => service.kill())).then(() => all[0]!.remove()))
          )
          yield* Effect.promise(async () => {
            for (const service of services) await service.start()
            const heard = services.map(heardFrom)
            let isOver = false
            const clients = services.flatMap((service) =>
              ["GET", "POST"].map(async (method) => {
                for (let at = 0; !isOver; at++) {
                  // No Sandbox: a simulated machine is in one process only, and the other process's reconciler would
                  // log lines about it.
                  const asked =
                    method === "GET"
                      ? service.ask("GET", "/sandboxes")
                      : service.ask("POST", "/workspaces", { name: `w${at}` }, `${service.port}-${at}`)
                  await asked.catch(() => null)
                  await sleep(20)
                }
              })
            )
            await sleep(1000)
            begin(link)
            await sleep(outageMs)
            await end(link)
            const served = () => heard.every((lines) => lines.some((line) => line.includes("serves again")))
            for (const limit = Date.now() + 60_000; !served() && Date.now() < limit; ) await sleep(100)
            await sleep(2000)
            isOver = true
            await Promise.all(clients)
            for (const lines of heard) {
              // Each request has its own line, whether it succeeded or failed.
              assertOutageLines(lines.filter((line) => !/^\w+ request$/.test(line)))
            }
          })
        }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare)),
      180_000
    )
  }
})
