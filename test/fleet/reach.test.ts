/** A fleet of real processes whose database, or one of whose services, is cut off. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { heardFrom } from "../support/heardFrom.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { Fleet } from "./Fleet.ts"
import { refusal } from "./refusal.ts"

const outageMs = 10_000
const withinMs = 60_000

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + withinMs; !(await holds()) && Date.now() < end; ) await sleep(100)
}

describe.skipIf(refusal !== null)("a fleet", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })("of real processes", (it) => {
    it.effect(
      "says in two lines of each of its processes that its database is gone for a while",
      () =>
        Effect.gen(function* () {
          const fleet = yield* Fleet.make({ environment: { ATOLL_LOG_LEVEL: "info" } })
          yield* Effect.promise(async () => {
            const services = fleet.services.map(heardFrom)
            const hosts = fleet.hosts.map(heardFrom)
            await fleet.net.isolate("database")
            await sleep(outageMs)
            await fleet.net.heal()
            await until(() => services.every((lines) => lines.some((line) => line.includes("serves again"))))
            await until(() => hosts.every((lines) => lines.some((line) => line.includes("has joined"))))
            await fleet.untilReady()
            for (const lines of services) {
              const text = lines.join("\n")
              assert.strictEqual(lines.length, 2, text)
              assert.match(
                lines[0]!,
                /^WARN The database does not serve: .+\. What is to be stored waits for it\.$/,
                text
              )
              assert.match(lines[1]!, /^INFO The database serves again, \d+ s after the first of \d+ statements/, text)
            }
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
        }).pipe(Effect.scoped),
      180_000
    )
  })
})
