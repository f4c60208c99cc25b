/** The service as a process: its start and its end. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { createServer as createHttpServer } from "node:http"
import { createServer } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"

const main = join(import.meta.dirname, "../../../src/main.mjs")

interface Service {
  readonly child: ChildProcess
  /** All its output so far. */
  readonly said: () => string
  /**
   * Exit code or signal, once all output was read. (The child's own `close` waits for an IPC channel that was given
   * up.)
   */
  readonly end: Promise<unknown>
}

/** The fields that a collector gets, as far as this test needs them. */
interface Exported {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{
      readonly spans: ReadonlyArray<{ readonly name: string; readonly parentSpanId?: string }>
    }>
  }>
}

/** Starts src/main.ts on the simulated runtime and this test's database; killed at the end if it still runs. */
interface Options {
  /** Without the controlling terminal of the person who runs the tests. */
  readonly detached?: boolean
  /** The program that starts it instead of Node. */
  readonly through?: ReadonlyArray<string>
}

const start = (
  environment: Readonly<Record<string, string>>,
  { detached = false, through = [process.execPath, main] }: Options = {}
) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const dataDir = yield* testFolder
    return yield* Effect.acquireRelease(
      Effect.sync((): Service => {
        let said = ""
        const child = spawn(through[0]!, through.slice(1), {
          detached,
          env: {
            PATH: process.env["PATH"],
            ...compiledOnce,
            ATOLL_RUNTIME: "simulated",
            ATOLL_PORT: "0",
            ATOLL_DATA_DIR: dataDir,
            DATABASE_URL: url,
            ...environment
          },
          stdio: ["ignore", "pipe", "pipe", "ipc"]
        })
        const streams = [child.stdout!, child.stderr!]
        for (const stream of streams) {
          stream.on("data", (chunk) => {
            said += chunk
          })
        }
        const end = Promise.all([once(child, "exit"), ...streams.map((stream) => once(stream, "close"))]).then(
          ([[code, signal]]) => code ?? signal
        )
        return { child, said: () => said, end }
      }),
      ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
    )
  })

const ready = ({ child, said, end }: Service) =>
  Effect.promise(async () => {
    const [message] = await Promise.race([
      once(child, "message"),
      end.then(() => Promise.reject(new Error(`ended before it was ready: ${said()}`)))
    ])
    return (message as { readonly ready: string }).ready
  })

const ended = ({ end }: Service) => Effect.promise(() => end)

const provideDatabase = Effect.provide(TestDatabase.bare)

describe("the service as a process", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.live(`serves until ${signal}, and then exits with 0`, () =>
      Effect.gen(function* () {
        const service = yield* start({})
        const address = yield* ready(service)
        const health = yield* Effect.promise(() => fetch(`${address}/healthz`))
        assert.strictEqual(health.status, 200)
        service.child.kill(signal)
        assert.strictEqual(yield* ended(service), 0)
      }).pipe(provideDatabase)
    )
  }

  it.live("survives a SIGHUP where it was started without a terminal", () =>
    Effect.gen(function* () {
      const service = yield* start({}, { detached: true })
      const address = yield* ready(service)
      service.child.kill("SIGHUP")
      yield* Effect.repeat(Effect.sleep(20), { until: () => service.said().includes("SIGHUP was ignored") })
      assert.strictEqual((yield* Effect.promise(() => fetch(`${address}/healthz`))).status, 200)
      service.child.kill("SIGTERM")
      assert.strictEqual(yield* ended(service), 0)
    }).pipe(provideDatabase)
  )

  it.live("stops when the terminal that it was started on is gone", () =>
    Effect.gen(function* () {
      const terminal = ["script", "--quiet", "--return", "--command", `exec ${process.execPath} ${main}`, "/dev/null"]
      const service = yield* start({}, { through: terminal })
      const pid = yield* Effect.repeat(Effect.as(Effect.sleep(50), service), {
        until: ({ said }) => said().includes("Atoll serves")
      }).pipe(
        Effect.map(({ child }) => Number(execFileSync("pgrep", ["--parent", String(child.pid)], { encoding: "utf8" })))
      )
      // Like a terminal's window that is closed.
      service.child.kill("SIGKILL")
      yield* Effect.repeat(Effect.sleep(50), { until: () => !existsSync(`/proc/${pid}`) })
    }).pipe(provideDatabase)
  )

  it.live("takes a signal that is repeated immediately, as npm does, for one", () =>
    Effect.gen(function* () {
      const service = yield* start({})
      yield* ready(service)
      service.child.kill("SIGINT")
      service.child.kill("SIGINT")
      assert.strictEqual(yield* ended(service), 0)
    }).pipe(provideDatabase)
  )

  it.live("stops when the npm run up that started it is gone", () =>
    Effect.gen(function* () {
      const service = yield* start({})
      yield* ready(service)
      service.child.disconnect()
      assert.strictEqual(yield* ended(service), 0)
    }).pipe(provideDatabase)
  )

  it.live("logs one JSON object a line when its output is no terminal", () =>
    Effect.gen(function* () {
      const service = yield* start({})
      const address = yield* ready(service)
      service.child.kill("SIGTERM")
      yield* ended(service)
      const lines = service.said().trim().split("\n")
      const messages = lines.map((line) => (JSON.parse(line) as { message: unknown }).message)
      assert.include(messages, `Atoll serves ${address}`)
    }).pipe(provideDatabase)
  )

  it.live("prints three lines at its start, and more at a lower log level", () =>
    Effect.gen(function* () {
      const messages = (environment: Readonly<Record<string, string>>) =>
        Effect.gen(function* () {
          const service = yield* start(environment)
          const address = yield* ready(service)
          service.child.kill("SIGTERM")
          yield* ended(service)
          const lines = service.said().trim().split("\n")
          return { address, said: lines.map((line) => String((JSON.parse(line) as { message: unknown }).message)) }
        })
      const { address, said } = yield* messages({})
      assert.lengthOf(said, 3, said.join("\n"))
      assert.match(said[0]!, /^The data is in \/.*; the database is DATABASE_URL \(.*\)\.$/)
      assert.match(said[1]!, /^Sandboxes are simulated: .* npm run --silent atoll -- doctor$/)
      assert.strictEqual(said[2], `Atoll serves ${address}`)
      const more = yield* messages({ ATOLL_LOG_LEVEL: "debug" })
      assert.isTrue(
        more.said.some((message) => message.startsWith("Runtime simulated: ")),
        more.said.join("\n")
      )
    }).pipe(provideDatabase)
  )

  it.live("sends traces to the collector of the settings, the last ones at its stop", () =>
    Effect.gen(function* () {
      const spans: Array<string> = []
      const roots: Array<string> = []
      const collector = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createHttpServer((request, response) => {
            let body = ""
            request.on("data", (chunk) => {
              body += chunk
            })
            request.on("end", () => {
              spans.push(...Array.from(body.matchAll(/"name":"([^"]+)"/g), ([, name]) => `${request.url} ${name}`))
              const { resourceSpans } = JSON.parse(body) as Exported
              roots.push(
                ...resourceSpans
                  .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
                  .flatMap(({ name, parentSpanId }) => (parentSpanId ? [] : [name]))
              )
              response.end("{}")
            })
          }).listen(0, "127.0.0.1")
          await once(server, "listening")
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = collector.address() as { port: number }
      const service = yield* start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
      const address = yield* ready(service)
      yield* Effect.promise(() => fetch(`${address}/api/v2/me`))
      service.child.kill("SIGTERM")
      assert.strictEqual(yield* ended(service), 0)
      assert.include(spans, "/v1/traces GET /api/v2/me")
      assert.isNotEmpty(roots)
      assert.deepStrictEqual(
        roots.filter((name) => name.startsWith("sql.")),
        []
      )
    }).pipe(provideDatabase)
  )

  it.live("names a port that is in use, and exits with 69", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createServer().listen(0, "127.0.0.1")
          await once(server, "listening")
          return server
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = taken.address() as { port: number }
      const service = yield* start({ ATOLL_PORT: String(port) })
      assert.strictEqual(yield* ended(service), 69)
      assert.include(service.said(), `atoll: Port ${port} of 127.0.0.1 is in use by another program.`)
    }).pipe(provideDatabase)
  )

  it.live("reports an unreachable database, without its password, and exits with 69", () =>
    Effect.gen(function* () {
      const service = yield* start({
        DATABASE_URL: "postgres://someone:hunter2@127.0.0.1:1/shop",
        ATOLL_DATABASE_WAIT_MS: "100"
      })
      assert.strictEqual(yield* ended(service), 69)
      assert.match(service.said(), /atoll: The database, DATABASE_URL \(127\.0\.0\.1:1\/shop\), cannot be reached/)
      assert.notInclude(service.said(), "hunter2")
    }).pipe(provideDatabase)
  )

  it.live("reports another process that has the database to itself, and exits with 69", () =>
    Effect.gen(function* () {
      const first = yield* start({})
      yield* ready(first)
      const second = yield* start({ ATOLL_CLUSTER_PORT: "0" })
      const third = yield* start({ ATOLL_CLUSTER_PORT: "39999" })
      assert.deepStrictEqual([yield* ended(second), yield* ended(third)], [69, 69])
      assert.include(second.said(), "atoll: Other Atoll processes use this database, and ATOLL_CLUSTER_PORT is not set")
      assert.include(third.said(), "atoll: Another Atoll process uses this database alone")
    }).pipe(provideDatabase)
  )

  it.live("names the setting that does not parse, and exits with 78", () =>
    Effect.gen(function* () {
      const service = yield* start({ ATOLL_VOLUME_BYTES: "4GB" })
      assert.strictEqual(yield* ended(service), 78)
      assert.include(service.said(), "atoll: ATOLL_VOLUME_BYTES must be a whole number from")
      const secretive = yield* start({ ATOLL_BOOTSTRAP_API_KEY: "two words" })
      assert.strictEqual(yield* ended(secretive), 78)
      assert.include(secretive.said(), "atoll: ATOLL_BOOTSTRAP_API_KEY must be")
      assert.notInclude(secretive.said(), "two words")
    }).pipe(provideDatabase)
  )

  it.live("reports a data folder that is none, and exits with 69", () =>
    Effect.gen(function* () {
      const service = yield* start({ ATOLL_DATA_DIR: "/dev/null/data" })
      assert.strictEqual(yield* ended(service), 69)
      assert.include(service.said(), "/dev/null/data")
      const ofAFleet = yield* start({ ATOLL_DATA_DIR: "/dev/null/data", ATOLL_ROLE: "service" })
      assert.strictEqual(yield* ended(ofAFleet), 69)
      assert.include(ofAFleet.said(), "atoll: /dev/null/data is, or lies below, something that is no folder.")
    }).pipe(provideDatabase)
  )
})
