import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { unmountPools } from "./host/namespace/unmountPools.ts"

/** An empty folder that other users may enter, removed with the scope. */
export const testFolder = Effect.acquireRelease(
  Effect.promise(async () => {
    const path = await mkdtemp(join(tmpdir(), "atoll-test-"))
    await chmod(path, 0o711)
    return path
  }),
  (path) =>
    Effect.promise(async () => {
      unmountPools(path)
      await rm(path, { recursive: true, force: true })
    })
)
