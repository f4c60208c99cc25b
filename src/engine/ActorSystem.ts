/**
 * Actors for a program with machines that are not Atoll's: one process at a time, on a Postgres server or on an embedded one. (A service of Atoll joins the
 * same layers by itself, in `src/app/`.)
 *
 * The database gets all of Atoll's tables, for the journal's steps stand among them. A program needs a database that it does not share with Atoll.
 */
import { ConfigProvider, Layer } from "effect"
import { Settings } from "../Config.ts"
import { Actors } from "../store/Actors.ts"
import { Database } from "../store/Database.ts"
import { DatabaseClaim } from "../store/DatabaseClaim.ts"
import { Journal } from "../store/Journal.ts"
import { Migrations } from "../store/Migrations.ts"
import { ActorCluster } from "./ActorCluster.ts"
import { ActorHost, type ActorHostOptions } from "./ActorHost.ts"

export interface ActorDatabaseOptions {
  /** The folder of the embedded Postgres. It has the actors: keep it. */
  readonly dataDir: string
  /** `postgres://user:password@host/database`, in place of the embedded one. */
  readonly databaseUrl?: string
}

/** No setting comes from the environment. */
const settingsOf = ({ dataDir, databaseUrl }: ActorDatabaseOptions) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({
          ATOLL_DATA_DIR: dataDir,
          ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl })
        })
      )
    )
  )

export const ActorDatabase = {
  /** The database, migrated, and claimed for this process: a second one waits 10 s for the end of the first, and then fails with a sentence. */
  layer: (options: ActorDatabaseOptions) =>
    DatabaseClaim.layer.pipe(
      Layer.provideMerge(Migrations.layer),
      Layer.provideMerge(Database.layer),
      Layer.provide(settingsOf(options))
    )
}

export const ActorSystem = {
  /** `ActorHost`, and `Actors` for reads, on an `ActorDatabase`. */
  layer: (options: Partial<ActorHostOptions> = {}) =>
    ActorHost.layer(options).pipe(
      Layer.provideMerge(Layer.merge(Journal.layer, Actors.layer)),
      Layer.provide(ActorCluster.layerSingle)
    )
}
