/**
 * One Postgres for a whole test run (vitest `globalSetup`): in memory where there is room, with one migrated template
 * that every test file copies. The next run removes the server of a killed run.
 */
import { chmod, mkdtemp, readdir, rm, statfs } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, ManagedRuntime, Redacted, References } from "effect"
import type { TestProject } from "vitest/node"
import { EmbeddedPostgres } from "../../src/ops/postgres/EmbeddedPostgres.ts"
import { stopServer } from "../../src/ops/postgres/Postmaster.ts"
import { FileLock } from "../../src/platform/fileLock/FileLock.ts"
import { Database } from "../../src/store/Database.ts"
import { DatabaseServer } from "../../src/store/DatabaseServer.ts"
import { Migrations } from "../../src/store/Migrations.ts"
import { compiledOnce } from "./compiledOnce.ts"
import { testSettings } from "./TestSettings.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the run's Postgres socket. */
    testPostgresSocketFolder: string
  }
}

const prefix = "atoll-test-run-"
const memoryFolder = "/dev/shm"
const memoryNeededBytes = 1024 ** 3

/** A database of the run's server, as DATABASE_URL. */
export const testDatabaseUrl = (socketFolder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(socketFolder)}`

const roomiestFolder = async (): Promise<string> => {
  const free = await statfs(memoryFolder).then(
    (found) => found.bavail * found.bsize,
    () => 0
  )
  return free >= memoryNeededBytes ? memoryFolder : tmpdir()
}

/** Removes a killed run's server and data. One that is in use, or is just starting, holds a lock and is left alone. */
const sweepAbandoned = async (folder: string): Promise<void> => {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue
    const home = join(folder, name, "postgres")
    const inside = await readdir(home).catch((): Array<string> => [])
    if (!inside.includes("users")) continue
    const lock = await FileLock.open(join(home, "lock"))
    const users = await FileLock.open(join(home, "users"))
    try {
      if ((await lock.exclusive(0)) && (await users.exclusive(0))) {
        await stopServer(home)
        await rm(join(folder, name), { recursive: true, force: true })
      }
    } finally {
      await lock.close()
      await users.close()
    }
  }
}

const makeTemplate = Effect.gen(function* () {
  const { socketFolder, socketPath, username } = yield* EmbeddedPostgres
  const admin = PgClient.layer({ path: socketPath, username, database: "postgres", maxConnections: 1 })
  const run = (statement: string) =>
    Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(Effect.provide(admin))
  yield* run("create database atoll_template")
  const server = DatabaseServer.at(Redacted.make(testDatabaseUrl(socketFolder, "atoll_template")))
  yield* Effect.void.pipe(
    Effect.provide(Migrations.layer.pipe(Layer.provide(Database.layerOn), Layer.provide([server, testSettings()])))
  )
  yield* run("alter database atoll_template with is_template true allow_connections false")
  return socketFolder
}).pipe(Effect.provideService(References.MinimumLogLevel, "Warn"))

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const folder = await roomiestFolder()
  await sweepAbandoned(folder)
  const base = await mkdtemp(join(folder, prefix))
  // Before the workers are started, which load the same packages again and again.
  process.env["NODE_COMPILE_CACHE"] ??= compiledOnce.NODE_COMPILE_CACHE
  await chmod(base, 0o711)
  const runtime = ManagedRuntime.make(EmbeddedPostgres.at({ home: join(base, "postgres"), durable: false }))
  const end = async (): Promise<void> => {
    await runtime.dispose()
    await rm(base, { recursive: true, force: true })
  }
  try {
    project.provide("testPostgresSocketFolder", await runtime.runPromise(makeTemplate))
  } catch (cause) {
    await end()
    throw cause
  }
  return end
}
