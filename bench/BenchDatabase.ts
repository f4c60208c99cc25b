/** The database of a benchmark: a fresh, durable (fsync on) embedded Postgres that is removed at its end, or the one of a service under test. */
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../src/Config.ts"
import { EmbeddedPostgres } from "../src/ops/postgres/EmbeddedPostgres.ts"
import { Database } from "../src/store/Database.ts"
import { DatabaseServer } from "../src/store/DatabaseServer.ts"
import { Migrations } from "../src/store/Migrations.ts"

const home = Layer.unwrap(
  Effect.gen(function* () {
    const base = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const folder = await mkdtemp(join(tmpdir(), "atoll-bench-"))
        await chmod(folder, 0o711)
        return folder
      }),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
    )
    return EmbeddedPostgres.at({ home: join(base, "postgres"), durable: true })
  })
)

const serverAt = (socketFolder: string) =>
  DatabaseServer.at(Redacted.make(`postgres://postgres@localhost/postgres?host=${encodeURIComponent(socketFolder)}`))

const server = Layer.unwrap(Effect.map(EmbeddedPostgres, ({ socketFolder }) => serverAt(socketFolder)))

/** The database of a running service, beside that service. */
export const databaseOf = (socketFolder: string) =>
  Database.layerOn.pipe(Layer.provide(serverAt(socketFolder)), Layer.provide(Settings.layer))

/** Asks the embedded database of a running service, on a separate connection. */
export const query = <A extends object>(
  service: { readonly databaseSocketFolder: string },
  text: string
): Promise<ReadonlyArray<A>> =>
  Effect.runPromise(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<A>(text)).pipe(
      Effect.provide(databaseOf(service.databaseSocketFolder))
    )
  )

export const benchDatabase = Migrations.layer.pipe(
  Layer.provideMerge(Database.layerOn),
  Layer.provide(server),
  Layer.provide(home),
  Layer.provideMerge(Settings.layer)
)
