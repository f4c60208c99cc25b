/** The launcher against real servers, each in a separate folder. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { EmbeddedPostgres } from "../../../../src/ops/postgres/EmbeddedPostgres.ts"
import { runs } from "../../../../src/ops/postgres/Postmaster.ts"
import { testFolder } from "../../../support/testFolder.ts"

const home = Effect.map(testFolder, (path) => join(path, "postgres"))

const open = (path: string) =>
  Effect.map(Layer.build(EmbeddedPostgres.at({ home: path, durable: true })), (context) =>
    Context.get(context, EmbeddedPostgres)
  )

const query = (postgres: EmbeddedPostgres["Service"], statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
    Effect.provide(
      PgClient.layer({
        path: postgres.socketPath,
        username: postgres.username,
        database: "postgres",
        maxConnections: 1
      })
    )
  )

const isRunning = (path: string, pid: number): boolean => runs(pid, join(path, "data"))

const program = join(import.meta.dirname, "fixtures/user.ts")

/** A separate process that uses the server of `path`, and prints the server's pid. */
const otherProcess = (path: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] })
      const [line] = (await once(createInterface(child.stdout), "line")) as [string]
      return { child, serverPid: Number(line) }
    }),
    ({ child }) => Effect.promise(() => ended(child, "SIGKILL"))
  )

const ended = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, "exit")
  child.kill(signal)
  await gone
}

describe("the embedded Postgres", () => {
  it.live("is made at the first start, stops with its last user, and keeps its data for the second start", () =>
    Effect.gen(function* () {
      const path = yield* home
      const first = yield* Effect.scoped(
        Effect.gen(function* () {
          const postgres = yield* open(path)
          yield* query(postgres, "create table kept as select 42 as answer")
          return yield* postgres.pid
        })
      )
      assert.isFalse(isRunning(path, first))
      const postgres = yield* open(path)
      assert.notStrictEqual(yield* postgres.pid, first)
      assert.deepStrictEqual(yield* query(postgres, "select answer from kept"), [{ answer: 42 }])
    })
  )

  it.live("listens on a private socket only, checks its pages, and commits durably", () =>
    Effect.gen(function* () {
      const postgres = yield* open(yield* home)
      const [settings] = yield* query(
        postgres,
        `select current_setting('listen_addresses') as tcp, current_setting('unix_socket_permissions') as socket,
                current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync,
                current_setting('data_checksums') as checksums, current_setting('server_encoding') as encoding`
      )
      assert.deepStrictEqual(settings, {
        tcp: "",
        socket: "0700",
        fsync: "on",
        sync: "on",
        checksums: "on",
        encoding: "UTF8"
      })
    })
  )

  it.live("is shared: two concurrent processes get one server, and the last one to leave stops it", () =>
    Effect.gen(function* () {
      const path = yield* home
      const [one, two] = yield* Effect.all([otherProcess(path), otherProcess(path)], { concurrency: 2 })
      assert.strictEqual(one.serverPid, two.serverPid)
      yield* Effect.promise(() => ended(one.child, "SIGTERM"))
      assert.isTrue(isRunning(path, two.serverPid))
      yield* Effect.promise(() => ended(two.child, "SIGTERM"))
      assert.isFalse(isRunning(path, two.serverPid))
    })
  )

  it.live("outlives kill -9 of its user, and the next one adopts it", () =>
    Effect.gen(function* () {
      const path = yield* home
      const { child, serverPid } = yield* otherProcess(path)
      yield* Effect.promise(() => ended(child, "SIGKILL"))
      assert.isTrue(isRunning(path, serverPid))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const postgres = yield* open(path)
          assert.strictEqual(yield* postgres.pid, serverPid)
        })
      )
      assert.isFalse(isRunning(path, serverPid))
    })
  )

  it.live("is restarted when it is killed, and nothing that was acknowledged is lost", () =>
    Effect.gen(function* () {
      const path = yield* home
      const postgres = yield* open(path)
      yield* query(postgres, "create table kept (id int)")
      for (const id of [1, 2, 3]) yield* query(postgres, `insert into kept values (${id})`)
      const killed = yield* postgres.pid
      process.kill(killed, "SIGKILL")
      yield* Effect.sleep(20).pipe(
        Effect.andThen(postgres.pid),
        Effect.repeat({ schedule: Schedule.spaced(5), until: (pid) => pid !== killed }),
        Effect.timeout("15 seconds")
      )
      assert.deepStrictEqual(yield* query(postgres, "select count(*)::int4 as kept from kept"), [{ kept: 3 }])
    })
  )

  it.live("is not fooled by a postmaster.pid whose number now belongs to another program", () =>
    Effect.gen(function* () {
      const path = yield* home
      yield* Effect.scoped(open(path))
      const stale = `${process.pid}\n${join(path, "data")}\n1\n5432\n${join(path, "socket")}\n\n1 1\nready   \n`
      yield* Effect.promise(() => writeFile(join(path, "data/postmaster.pid"), stale))
      const postgres = yield* open(path)
      assert.notStrictEqual(yield* postgres.pid, process.pid)
      assert.deepStrictEqual(yield* query(postgres, "select 1 as one"), [{ one: 1 }])
    })
  )

  it.live("works in a folder whose path is too long for a socket", () =>
    Effect.gen(function* () {
      const path = join(yield* testFolder, "a".repeat(60), "b".repeat(60), "postgres")
      const socketFolder = yield* Effect.scoped(
        Effect.gen(function* () {
          const postgres = yield* open(path)
          assert.isAtMost(Buffer.byteLength(postgres.socketPath), 107)
          assert.deepStrictEqual(yield* query(postgres, "select 1 as one"), [{ one: 1 }])
          return postgres.socketFolder
        })
      )
      assert.isFalse(existsSync(socketFolder), "nothing is left outside of the folder")
    })
  )

  const refusal = (path: string) => Effect.map(Effect.flip(Effect.scoped(open(path))), (fault) => fault.message)

  it.live("refuses a cluster of another major version, and leaves it alone", () =>
    Effect.gen(function* () {
      const path = yield* home
      yield* Effect.scoped(open(path))
      yield* Effect.promise(() => writeFile(join(path, "data/PG_VERSION"), "15\n"))
      assert.match(yield* refusal(path), /was made by Postgres 15, but this Atoll brings Postgres 18/)
      assert.strictEqual(yield* Effect.promise(() => readFile(join(path, "data/PG_VERSION"), "utf8")), "15\n")
    })
  )

  it.live("refuses a data folder that holds something else", () =>
    Effect.gen(function* () {
      const path = yield* home
      yield* Effect.promise(() => mkdir(join(path, "data"), { recursive: true }))
      yield* Effect.promise(() => writeFile(join(path, "data/diary.txt"), ""))
      assert.match(yield* refusal(path), /is not empty, yet holds no Postgres database/)
    })
  )

  it.live("refuses a data folder below a file", () =>
    Effect.gen(function* () {
      const path = yield* testFolder
      yield* Effect.promise(() => writeFile(join(path, "file"), ""))
      assert.match(yield* refusal(join(path, "file/postgres")), /something that is no folder/)
    })
  )

  it.live("passes on the server's own reason when it does not start", () =>
    Effect.gen(function* () {
      const path = yield* home
      yield* Effect.scoped(open(path))
      yield* Effect.promise(() => rm(join(path, "data/global/pg_control")))
      assert.match(yield* refusal(path), /did not start\. It said: .*could not find the database system.*server\.log/s)
    })
  )
})
