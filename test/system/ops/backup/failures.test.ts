/** Faults of an archive: too little room, an end in the middle, another version. On databases of DATABASE_URL. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { store } from "../../../../src/app/Service.ts"
import { isHeld } from "../../../../src/host/linux/holdMark.ts"
import { HostLayout } from "../../../../src/host/namespace/HostLayout.ts"
import { closeVolume, openVolume } from "../../../../src/host/namespace/volume.ts"
import { thawAbandoned } from "../../../../src/host/namespace/volumeHold.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { ArchiveWriter, framesOf } from "../../../../src/ops/backup/Archive.ts"
import { ArchiveUnusable } from "../../../../src/ops/backup/ArchiveUnusable.ts"
import { backup } from "../../../../src/ops/backup/Backup.ts"
import { restore } from "../../../../src/ops/backup/Restore.ts"
import { inhabitedStates } from "../../../../src/sandbox/sandboxStates.ts"
import { migrate, migrations } from "../../../../src/store/Migrations.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { newAccount, testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../../support/TestSandboxes.ts"
import { testSettings } from "../../../support/TestSettings.ts"
import { testFolder } from "../../../support/testFolder.ts"

const mebibyte = 1024 ** 2
/** The table that `migrate` locks first. */
const migrationLock = "418380508268"
const silent = () => {}

const backupTo = (archive: string, dataDir: string) =>
  backup(archive, silent).pipe(Effect.provide(testSettings({ ATOLL_DATA_DIR: dataDir })))

const settingsOf = (dataDir: string, url: string) => testSettings({ ATOLL_DATA_DIR: dataDir, DATABASE_URL: url })

const restoreFrom = (archive: string, dataDir: string, url: string) =>
  restore(archive, statSync(archive).size, silent).pipe(Effect.provide(settingsOf(dataDir, url)))

/** An empty database, until the scope closes. */
const emptyDatabase = Effect.map(Layer.build(Layer.fresh(TestDatabase.layerEmpty)), (context) => ({
  context,
  url: Context.get(context, TestDatabase).url
}))

const messageOf = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  Effect.map(Effect.flip(effect), (fault) => (fault as Error).message)

/** The command line, which the test ends in the middle. */
const begun = (words: ReadonlyArray<string>, dataDir: string, url: string): ChildProcess =>
  spawn(process.execPath, [resolve("src/cli/main.ts"), ...words], {
    env: { PATH: process.env["PATH"], ATOLL_DATA_DIR: dataDir, DATABASE_URL: url },
    stdio: "ignore"
  })

const ended = (child: ChildProcess, signal: NodeJS.Signals) =>
  Effect.promise(async () => {
    const exit = once(child, "exit")
    child.kill(signal)
    return exit
  })

/** Until a session waits for that table: a backup that has just frozen everything. */
const untilWaiting = (sql: SqlClient.SqlClient) =>
  Effect.repeat(
    Effect.delay(sql`select 1 from pg_locks where relation = 'installation'::regclass and not granted`, 20),
    { until: (rows) => rows.length > 0 }
  )

/** Those that a restore stops: also of earlier tests, unless a service has found since that their world is gone. */
const inhabited = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`select id from actors where kind = 'sandbox' and ${sql.in("status", inhabitedStates)}`
  assert.isNotEmpty(found)
  return found.length
})

/** A private disk of this size. */
const smallDisk = Effect.fnUntraced(function* (path: string, bytes: number) {
  mkdirSync(path)
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path])
  yield* Effect.addFinalizer(() => Effect.sync(() => execFileSync("umount", [path])))
})

/**
 * A database with a running Sandbox, as the simulated runtime stores it, and a folder with a volume of the namespace
 * runtime for it.
 */
const source = Effect.gen(function* () {
  const folder = yield* testFolder
  const dataDir = join(folder, "data")
  const sandboxId = yield* Effect.gen(function* () {
    const account = yield* newAccount
    const { id } = (yield* createIn(account)).sandbox
    yield* untilStatus(account.accountId, id, "running")
    return id
  }).pipe(Effect.provide(testAtoll(yield* SimulatedWorld.make), { local: true }))
  mkdirSync(join(dataDir, "runtime/namespace", sandboxId), { recursive: true })
  const sandbox = HostLayout.at(dataDir).state(sandboxId)
  yield* Effect.promise(() => sandbox.writeSpec({ uid: null, volumeBytes: 16 * mebibyte }))
  return { folder, dataDir, sandboxId, archive: join(folder, "archive") }
})

layer(TestDatabase.layer, { excludeTestServices: true })("an archive", (it) => {
  it.effect(
    "of an older schema, or of format 1, is restored into a database of DATABASE_URL, and migrated",
    () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const older = yield* emptyDatabase
        const archive = join(folder, "archive")
        yield* Effect.gen(function* () {
          const steps = Object.entries(migrations).filter(([name]) => name < "0038")
          yield* migrate(Object.fromEntries(steps))
          yield* newAccount
          yield* backupTo(archive, join(folder, "none"))
        }).pipe(Effect.provide(older.context))
        const bytes = readFileSync(archive)
        assert.strictEqual(bytes.toString("latin1", 0, 15), "atoll backup 3\n")
        bytes.write("1", 13)
        writeFileSync(`${archive}-1`, bytes)
        const { context, url } = yield* emptyDatabase
        yield* restoreFrom(`${archive}-1`, join(folder, "copy"), url)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const found = yield* sql`select max(migration_id) as step, (select count(*) from accounts)::int4 as accounts
            from atoll_migrations`
          const newest = Math.max(...Object.keys(migrations).map((name) => Number(name.slice(0, 4))))
          assert.deepStrictEqual(found, [{ step: newest, accounts: 1 }])
        }).pipe(Effect.provide(context))
        bytes.write("4", 13)
        writeFileSync(`${archive}-4`, bytes)
        assert.include(
          yield* messageOf(restoreFrom(`${archive}-4`, join(folder, "other"), url)),
          "was written by a newer Atoll (format 4)"
        )
      }).pipe(Effect.scoped),
    2 * withinMs
  )
  it.effect(
    "is refused before anything is written if it is not an archive, is cut, or is newer",
    () =>
      Effect.gen(function* () {
        const { folder, dataDir, sandboxId, archive } = yield* source
        writeFileSync(join(dataDir, "runtime/namespace", sandboxId, "volume.img"), randomBytes(64 * 1024))
        yield* backupTo(archive, dataDir)
        assert.include(yield* messageOf(backupTo(archive, dataDir)), "exists already")
        const bytes = readFileSync(archive)
        const flipped = Buffer.from(bytes)
        flipped[bytes.length >> 1]! ^= 1
        const newer = join(folder, "newer")
        yield* Effect.promise(async () => {
          const writer = await ArchiveWriter.make(newer)
          await writer.json("header", { takenAt: 0, steps: [9999], driver: null })
          await writer.end()
        })
        const { context, url } = yield* emptyDatabase
        const empty = backupTo(join(folder, "other"), dataDir).pipe(Effect.provide(context))
        assert.include(yield* messageOf(empty), "There is nothing to back up")
        const broken = join(folder, "broken")
        for (const [content, sentence] of [
          [Buffer.from("something else"), "is no backup of Atoll"],
          [bytes.subarray(0, bytes.length - 100), "is not whole"],
          [flipped, "is not whole"],
          [readFileSync(newer), "its step 9999 is unknown here"]
        ] as const) {
          writeFileSync(broken, content)
          assert.include(yield* messageOf(restoreFrom(broken, join(folder, "copy"), url)), sentence)
        }
        assert.deepStrictEqual(readdirSync(folder).toSorted(), ["archive", "broken", "data", "newer"])
        const isWhole = (content: Buffer) =>
          Effect.promise(async () => {
            writeFileSync(broken, content)
            const frames = framesOf(broken)
            try {
              while ((await frames.next()).done !== true);
              return true
            } catch (fault) {
              assert.instanceOf(fault, ArchiveUnusable)
              return false
            }
          })
        assert.isTrue(yield* isWhole(bytes))
        for (let part = 0; part < 50; part++) {
          const at = Math.floor((bytes.length * part) / 50)
          assert.isFalse(yield* isWhole(bytes.subarray(0, at)), `cut at ${at}`)
          const other = Buffer.from(bytes)
          other[at]! ^= 1 << (part % 8)
          assert.isFalse(yield* isWhole(other), `another byte at ${at}`)
        }
      }).pipe(Effect.scoped),
    2 * withinMs
  )

  it.effect(
    "omits the volume of a Sandbox that was deleted while it was written",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { folder, dataDir, sandboxId, archive } = yield* source
        const sandbox = join(dataDir, "runtime/namespace", sandboxId)
        writeFileSync(join(sandbox, "volume.img"), randomBytes(mebibyte))
        const locked = yield* Deferred.make<void>()
        const backingUp = yield* Effect.forkChild(Effect.andThen(Deferred.await(locked), backupTo(archive, dataDir)))
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`lock table installation in access exclusive mode`
            yield* Deferred.succeed(locked, undefined)
            yield* untilWaiting(sql)
            rmSync(sandbox, { recursive: true })
          })
        )
        assert.deepInclude(yield* Fiber.join(backingUp), { volumes: 0 })
        const stopped = yield* inhabited
        const { url } = yield* emptyDatabase
        assert.deepInclude(yield* restoreFrom(archive, join(folder, "copy"), url), { volumes: 0, stopped })
        assert.deepStrictEqual(readdirSync(join(folder, "copy/runtime/namespace")), [])
      }).pipe(Effect.scoped),
    2 * withinMs
  )

  const why = unusable ?? (isRoot ? null : "only root mounts volumes")

  it.effect.skipIf(skipped(why))(
    "leaves nothing frozen and no file under its name when the backup is ended in the middle, and another backup works",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const sql = yield* SqlClient.SqlClient
        const { folder, dataDir, sandboxId, archive } = yield* source
        const image = join(dataDir, "runtime/namespace", sandboxId, "volume.img")
        writeFileSync(image, "")
        const layout = HostLayout.at(dataDir)
        const place = { image, folder: layout.volume(layout.state(sandboxId)).folder }
        yield* Effect.addFinalizer(() =>
          Effect.promise(async () => {
            await closeVolume(place)
            rmdirSync(dirname(place.folder))
          })
        )
        yield* Effect.promise(async () => {
          rmSync(image)
          await openVolume(place, 16 * mebibyte, null)
        })
        const write = () => execFileSync("touch", [join(place.folder, "workspace/written")], { timeout: withinMs })
        for (const signal of ["SIGKILL", "SIGINT"] as const) {
          // It waits for this table at the moment when all is frozen.
          const child = yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`lock table installation in access exclusive mode`
              const child = begun(["backup", archive], dataDir, url)
              yield* untilWaiting(sql)
              assert.isTrue(isHeld(image))
              const writing = spawn("touch", [join(place.folder, "workspace/meanwhile")])
              yield* Effect.sleep(200)
              assert.isNull(writing.exitCode)
              yield* ended(child, signal)
              return child
            })
          )
          write()
          assert.deepStrictEqual<unknown>(
            [child.signalCode, child.exitCode, readdirSync(folder).toSorted()],
            signal === "SIGKILL" ? ["SIGKILL", null, ["archive.partial", "data"]] : [null, 130, ["data"]]
          )
          assert.isFalse(isHeld(image))
          // As after the next kill of all processes.
          writeFileSync(`${archive}.partial`, "of one that was killed")
        }
        // The freezer is killed, too: the next process thaws it.
        execFileSync("fsfreeze", ["-f", place.folder])
        writeFileSync(`${image}.held`, JSON.stringify({ pid: 1, startTime: 0, bootId: "none" }))
        assert.isTrue(yield* Effect.promise(() => thawAbandoned(image, place.folder)))
        write()
        const taken = yield* backupTo(archive, dataDir)
        assert.deepInclude(taken, { volumes: 1, later: [], unheld: [] })
        assert.deepStrictEqual(readdirSync(folder).toSorted(), ["archive", "data"])
      }).pipe(Effect.scoped),
    2 * withinMs
  )

  it.effect.skipIf(skipped(why))(
    "needs room: where there is too little for it, or for its restore, nothing is left",
    () =>
      Effect.gen(function* () {
        const { folder, dataDir, sandboxId, archive } = yield* source
        const small = join(folder, "small")
        yield* smallDisk(small, mebibyte)
        writeFileSync(join(dataDir, "runtime/namespace", sandboxId, "volume.img"), randomBytes(2 * mebibyte))
        assert.include(yield* messageOf(backupTo(join(small, "archive"), dataDir)), "not enough room")
        assert.deepStrictEqual(readdirSync(small), [])
        yield* backupTo(archive, dataDir)
        const { context, url } = yield* emptyDatabase
        const message = yield* messageOf(restoreFrom(archive, join(small, "copy"), url))
        assert.match(message, /not enough room: \d+ MiB are needed in .*copy, and 1 MiB are free/)
        assert.deepStrictEqual(readdirSync(join(small, "copy")), [])
        const tables = SqlClient.SqlClient.use(
          (sql) => sql`select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
        )
        assert.deepStrictEqual(yield* Effect.provide(tables, context), [])
      }).pipe(Effect.scoped),
    2 * withinMs
  )

  it.effect(
    "is restored again after a restore that was ended in the middle; until then nothing starts there",
    () =>
      Effect.gen(function* () {
        const { folder, dataDir, sandboxId, archive } = yield* source
        writeFileSync(join(dataDir, "runtime/namespace", sandboxId, "volume.img"), randomBytes(mebibyte))
        yield* backupTo(archive, dataDir)
        const stopped = yield* inhabited
        const { context, url } = yield* emptyDatabase
        const copy = join(folder, "copy")
        const start = Layer.build(Layer.fresh(store)).pipe(Effect.provide(settingsOf(copy, url)), Effect.scoped)
        for (const signal of ["SIGTERM", "SIGKILL"] as const) {
          // At its beginning, with the tables, it waits for the process that makes them.
          yield* Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* sql.withTransaction(
              Effect.gen(function* () {
                yield* sql`select pg_advisory_xact_lock(${migrationLock}::bigint)`
                const child = begun(["restore", archive], copy, url)
                yield* Effect.repeat(
                  Effect.delay(sql`select 1 from pg_locks where locktype = 'advisory' and not granted`, 20),
                  { until: (rows) => rows.length > 0 }
                )
                assert.include(yield* messageOf(start), "is being restored")
                yield* ended(child, signal)
              })
            )
          }).pipe(Effect.provide(context))
          assert.deepStrictEqual(readdirSync(copy), signal === "SIGTERM" ? [] : ["restoring"])
        }
        assert.include(yield* messageOf(start), "repeat it (atoll restore FILE)")
        const first = yield* restoreFrom(archive, copy, url)
        assert.deepInclude(first, { volumes: 1, stopped })
        yield* start
        // As if it had been killed just before its end.
        writeFileSync(
          join(copy, "restoring"),
          JSON.stringify({ process: { pid: 1, startTime: 0, bootId: "none" }, sha256: first.sha256 })
        )
        assert.deepInclude(yield* restoreFrom(archive, copy, url), { volumes: 1, stopped: 0 })
        yield* start
        assert.strictEqual(statSync(join(copy, "runtime/namespace", sandboxId, "volume.img")).size, mebibyte)
        assert.include(yield* messageOf(restoreFrom(archive, copy, url)), "an Atoll lives in it")
      }).pipe(Effect.scoped),
    2 * withinMs
  )
})
