/**
 * The database and the data folder belong together: machines and volumes that the database does not know are destroyed as
 * orphans, so a start on the wrong pair must end before it looks for any.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import { DatabaseUnusable } from "./Database.ts"

const readStamp = (path: string) =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null
      throw error
    }
  )

export class Installation extends Context.Service<
  Installation,
  {
    /** The runtime driver of the Sandboxes that exist; null before the first. */
    readonly driver: string | null
  }
>()("atoll/store/Installation") {
  /** Stamps a new data folder; fails with a sentence when the folder is another database's. */
  static readonly layer = Layer.effect(
    Installation,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { dataDir } = yield* Settings
      const [row] = yield* sql<{
        readonly id: string
        readonly driver: string | null
      }>`select id, driver from installation`.pipe(Effect.orDie)
      const folder = resolve(dataDir)
      const path = join(folder, "installation")
      const unusable = (cause: unknown) =>
        new DatabaseUnusable({
          message: `The data folder ${folder} cannot be used: ${String(cause)}. Correct ATOLL_DATA_DIR or its permissions.`
        })
      const stamp = yield* Effect.tryPromise({
        try: async () => {
          await mkdir(folder, { recursive: true })
          // Two processes that start at once on a new folder: the first writes, both read.
          await writeFile(path, `${row!.id}\n`, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
            if (error.code !== "EEXIST") throw error
          })
          return readStamp(path)
        },
        catch: unusable
      })
      if (stamp !== row!.id) {
        return yield* new DatabaseUnusable({
          message: `The data folder ${folder} belongs to another database, whose Sandboxes would be destroyed here as unknown. Set DATABASE_URL to that database, or ATOLL_DATA_DIR to another folder.`
        })
      }
      return Installation.of({ driver: row!.driver })
    })
  )
}
