/** A host as a process: its start, its health, and its end. */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { JoinRefused } from "../../../src/runtime/distant/JoinRpcs.ts"
import { atollWith, withinMs } from "../../support/commandLine.ts"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { JoinedService } from "../../support/host/ingress/JoinedService.ts"
import { skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { sendTo } from "../../support/http/TestApi.ts"
import { loopback, peer, until } from "../../support/peer/TestPeers.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"

const main = join(import.meta.dirname, "../../../src/main.ts")

const setting = Effect.gen(function* () {
  const secretFile = join(yield* testFolder, "secret")
  writeFileSync(secretFile, randomBytes(32).toString("hex"), { mode: 0o600 })
  const dataDir = join(yield* testFolder, "data")
  const service = new JoinedService("the database")
  yield* service.listen(yield* peer({ ATOLL_FLEET_SECRET_FILE: secretFile }))
  const environment = {
    ATOLL_ROLE: "host",
    ATOLL_RUNTIME: "simulated",
    ATOLL_PORT: "0",
    ATOLL_FLEET_PORT: "0",
    ATOLL_DATA_DIR: dataDir,
    ATOLL_FLEET_SECRET_FILE: secretFile,
    ATOLL_FLEET_JOIN: `${loopback}:${service.port}`
  }
  const start = (more: Readonly<Record<string, string>> = {}) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        let said = ""
        const child = spawn(process.execPath, [main], {
          env: { PATH: process.env["PATH"], ...compiledOnce, ...environment, ...more },
          stdio: ["ignore", "pipe", "pipe", "ipc"]
        })
        const streams = [child.stdout!, child.stderr!]
        for (const stream of streams) stream.on("data", (chunk) => (said += chunk))
        const end = Promise.all([once(child, "exit"), ...streams.map((stream) => once(stream, "close"))]).then(
          ([[code, signal]]) => code ?? signal
        )
        const ready = once(child, "message").then(([{ ready }]) => String(ready))
        return { child, end, ready, said: () => said }
      }),
      ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
    )
  const atoll = (...words: ReadonlyArray<string>) => atollWith(environment, ...words)
  return { dataDir, service, start, atoll, environment }
})

const told = (address: string, path: string) =>
  Effect.promise(async () => {
    const answer = await fetch(`${address}${path}`)
    return { status: answer.status, text: await answer.text() }
  })

describe("a host as a process", () => {
  it.live(
    "joins, reports its health, leaves at SIGTERM and exits with 0; its folder keeps its identity",
    () =>
      Effect.gen(function* () {
        const { dataDir, service, start } = yield* setting
        const host = yield* start()
        const address = yield* Effect.promise(() => host.ready)
        const health = Effect.map(told(address, "/healthz"), ({ status, text }) => ({ status, ...JSON.parse(text) }))
        yield* until(
          Effect.map(health, ({ status }) => status === "ok"),
          "it is well"
        )
        assert.deepInclude(yield* health, { service: `${loopback}:${service.port}`, fault: null, driver: "ok" })
        const { text } = yield* told(address, "/metrics")
        assert.match(text, /^atoll_host_memory_total_bytes \d+$/m)
        assert.match(text, /^atoll_build_info\{.*runtime="simulated"\} 1$/m)
        assert.strictEqual((yield* told(address, "/console/")).status, 404)
        assert.strictEqual(service.joined[0]!.hostId, readFileSync(join(dataDir, "host"), "utf8").trim())
        assert.isAbove(service.joined[0]!.address.port, 0)

        service.refusal = new JoinRefused({ message: "Not now.", isFinal: false })
        for (const socket of service.sockets) socket.destroy()
        yield* until(
          Effect.map(health, ({ status, fault }) => status === "unavailable" && fault === "Not now."),
          "it is not"
        )
        assert.strictEqual((yield* told(address, "/healthz")).status, 503)
        service.refusal = null
        yield* until(
          Effect.sync(() => service.joined.length > 1),
          "it has joined again"
        )
        yield* until(
          Effect.map(health, ({ status }) => status === "ok"),
          "it is well again"
        )
        host.child.kill("SIGTERM")
        assert.strictEqual(yield* Effect.promise(() => host.end), 0)
        assert.lengthOf(service.left, 1)
        assert.notInclude(host.said(), "postgres")
      }),
    withinMs
  )

  it.live(
    "is ended by atoll down, which removes its folder with --purge",
    () =>
      Effect.gen(function* () {
        const { dataDir, service, start, atoll } = yield* setting
        const host = yield* start()
        yield* Effect.promise(() => host.ready)
        yield* until(
          Effect.sync(() => service.joined.length > 0),
          "it has joined"
        )
        const { code, stdout, stderr } = yield* atoll("down", "--json")
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.deepInclude(JSON.parse(stdout), { processes: 1, sandboxes: 0, isPurged: false })
        assert.strictEqual(yield* Effect.promise(() => host.end), 0)
        assert.isTrue(existsSync(join(dataDir, "host")))
        assert.strictEqual((yield* atoll("down", "--purge", "--yes")).code, 0)
        assert.isFalse(existsSync(dataDir))
      }),
    withinMs
  )

  it.live(
    "refuses to start with a sentence: unusable settings with 78, a fleet's refusal with 69",
    () =>
      Effect.gen(function* () {
        const { service, start } = yield* setting
        const ended = (more: Readonly<Record<string, string>>) =>
          Effect.gen(function* () {
            const host = yield* start(more)
            return { code: yield* Effect.promise(() => host.end), said: host.said() }
          })
        const secretless = yield* ended({ ATOLL_FLEET_SECRET_FILE: "" })
        assert.strictEqual(secretless.code, 78, secretless.said)
        assert.include(secretless.said, "atoll: ATOLL_ROLE=host needs ATOLL_FLEET_SECRET_FILE")
        const lonely = yield* ended({ ATOLL_FLEET_JOIN: "" })
        assert.strictEqual(lonely.code, 78, lonely.said)
        assert.include(lonely.said, "atoll: ATOLL_ROLE=host needs ATOLL_FLEET_JOIN")
        service.refusal = new JoinRefused({ message: "Your folder is of another fleet.", isFinal: true })
        const unwanted = yield* ended({})
        assert.strictEqual(unwanted.code, 69, unwanted.said)
        assert.include(unwanted.said, "atoll: Your folder is of another fleet.")
      }),
    withinMs
  )

  it.live.skipIf(skipped(unusable))(
    "takes over the folder of an Atoll that did all by itself, with its running Sandboxes, and is ended with it",
    () =>
      Effect.gen(function* () {
        const { dataDir, service, start, environment } = yield* setting
        const atoll = (...words: ReadonlyArray<string>) =>
          atollWith({ ...environment, ATOLL_RUNTIME: "auto" }, ...words)
        const { url } = yield* TestDatabase
        const key = newSecret()
        const all = {
          ATOLL_ROLE: "all",
          ATOLL_RUNTIME: "namespace",
          ATOLL_DATA_DIR: dataDir,
          DATABASE_URL: url,
          ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
          ATOLL_BOOTSTRAP_API_KEY: key
        }
        yield* Effect.addFinalizer(() => atollWith(all, "down", "--purge", "--yes"))
        const before = yield* start(all)
        const send = sendTo(Number(new URL(yield* Effect.promise(() => before.ready)).port), key)
        const keyed = (body: object) => ({ headers: { "idempotency-key": "one" }, body })
        const { workspace } = (yield* Effect.promise(() => send("POST", "/api/v2/workspaces", keyed({ name: "a" }))))
          .json
        const made = yield* Effect.promise(() =>
          send("POST", "/api/v2/sandboxes?wait=running", keyed({ workspaceId: workspace.id, networkEnabled: false }))
        )
        assert.strictEqual(made.json.sandbox.status, "running", made.text)
        before.child.kill("SIGTERM")
        assert.strictEqual(yield* Effect.promise(() => before.end), 0)

        service.installation = readFileSync(join(dataDir, "installation"), "utf8").trim()
        const host = yield* start({ ATOLL_RUNTIME: "auto" })
        yield* until(
          Effect.sync(() => service.joined.length > 0),
          `it joins: ${host.said()}`
        )
        assert.deepInclude(service.joined[0], { driver: "namespace", installation: service.installation })
        host.child.kill("SIGTERM")
        assert.strictEqual(yield* Effect.promise(() => host.end), 0)
        assert.include(host.said(), "One Sandbox continues without Atoll")
        const down = yield* atoll("down", "--json")
        assert.deepInclude(JSON.parse(down.stdout), { processes: 0, sandboxes: 1 })
        assert.include(down.stderr, "notice it when the host joins again")
        assert.deepInclude(JSON.parse((yield* atoll("down", "--json")).stdout), { sandboxes: 0 })
      }).pipe(Effect.provide(TestDatabase.bare)),
    withinMs
  )
})
