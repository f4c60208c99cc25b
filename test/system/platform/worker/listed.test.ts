/** Every worker that the source starts is listed by the processes that run it, and each of them starts. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { ServiceProcess } from "../../../support/crash/ServiceProcess.ts"
import { Fleet } from "../../../support/fleet/Fleet.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { until } from "../../../support/until.ts"
import { refusal } from "../../fleet/refusal.ts"

/** A worker's name in the source; null where it is composed. */
const namesIn = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\b(?:worker|vitalWorker)\(\s*(?:"([^"]+)"|`([^`]+)`|(\w+))/g)].map(
    ([, literal, template, variable]) => literal ?? template ?? variable!
  )

const inSource = new Set(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("platform/worker/"))
    .flatMap((file) => namesIn(readFileSync(join("src", file), "utf8")))
)

/** Composed names, and their values in these processes. */
const composed: Readonly<Record<string, ReadonlyArray<string>>> = {
  name: ["journal commits", "journal inserts", "journal loads"],
  "${words.written} notices": ["written notices", "stored notices"]
}

/** Of a process that this test does not start: with certificates for its fleet or its API, or with virtual machines. */
const elsewhere: ReadonlyArray<string> = [
  "fleet certificate",
  "certificate",
  "machine networks",
  "machine looks",
  "machine spares",
  "machine holds"
]

interface Listed {
  readonly name: string
  readonly state: string
}

const workersAt = (origin: string) =>
  until(
    Effect.promise(async () => {
      const answer = await fetch(`${origin}/healthz`)
      return ((await answer.json()) as { readonly workers: ReadonlyArray<Listed> }).workers
    }),
    (all) => all.every(({ state }) => state === "up")
  )

describe.skipIf(refusal !== null)("workers", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })("of a fleet, and of a process that does all", (it) => {
    it.effect(
      "are all listed, and up",
      () =>
        Effect.gen(function* () {
          const fleet = yield* Fleet.make({ services: 2, hosts: 1, environment: { ATOLL_HOST: "0.0.0.0" } })
          const all = yield* Effect.acquireRelease(
            Effect.promise(async () => (await ServiceProcess.cluster(1, {}))[0]!),
            (service) => Effect.promise(() => service.kill().then(() => service.remove()))
          )
          yield* Effect.promise(() => all.start())
          const origins = [fleet.services[0]!.origin, `http://${fleet.hosts[0]!.host}:8080`, all.origin]
          const listed = (yield* Effect.forEach(origins, workersAt)).flat().map(({ name }) => name)
          const wanted = [...inSource].flatMap((name) => composed[name] ?? name)
          assert.isAbove(wanted.length, 40)
          assert.deepStrictEqual(
            wanted.filter((name) => !listed.includes(name)),
            elsewhere
          )
        }).pipe(Effect.scoped),
      180_000
    )
  })
})
