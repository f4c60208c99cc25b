/** A database server beside the services that share it. */
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ManagedRuntime } from "effect"
import { EmbeddedPostgres } from "../../../src/ops/postgres/EmbeddedPostgres.ts"
import { testDatabaseUrl } from "../../support/TestPostgres.ts"

export const sharedDatabase = async () => {
  const folder = await mkdtemp(join(tmpdir(), "atoll-linear-"))
  await chmod(folder, 0o711)
  const runtime = ManagedRuntime.make(EmbeddedPostgres.at({ home: join(folder, "postgres"), durable: true }))
  const { socketFolder } = await runtime.runPromise(EmbeddedPostgres)
  return {
    folder,
    url: testDatabaseUrl(socketFolder, "postgres"),
    end: async () => {
      await runtime.dispose()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
