/** The service on a database that a backup's process reaches, with an empty backup folder. */
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { TestApi } from "../../http/TestApi.ts"
import { TestDatabase } from "../../TestDatabase.ts"
import { testFolder } from "../../testFolder.ts"

export const backupFolderApi = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const folder = yield* testFolder
      const { url } = yield* TestDatabase
      return TestApi.on({ ATOLL_BACKUP_DIR: join(folder, "backups"), DATABASE_URL: url, ...environment })
    })
  ).pipe(Layer.provideMerge(TestDatabase.layer))
