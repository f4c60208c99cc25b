import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { DataFolder } from "../../../../src/platform/dataFolder/DataFolder.ts"
import { folderSentence } from "../../../../src/platform/dataFolder/folderSentence.ts"
import { refuseForeignSandboxes } from "../../../../src/platform/dataFolder/foreignSandboxes.ts"
import { testFolder } from "../../../support/testFolder.ts"

describe("a data folder", () => {
  it.live("has one id, however many processes request it first, and keeps it", () =>
    Effect.gen(function* () {
      const folder = join(yield* testFolder, "of", "unknown")
      yield* Effect.promise(() => DataFolder.make(folder))
      const ids = yield* Effect.promise(() => Promise.all(Array.from({ length: 20 }, () => DataFolder.host(folder))))
      assert.match(ids[0]!, /^host_[0-9a-f]{24}$/)
      assert.deepStrictEqual([...new Set(ids)], [ids[0]!])
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(folder)), ["host"])
      assert.strictEqual(yield* Effect.promise(() => readFile(join(folder, "host"), "utf8")), `${ids[0]}\n`)
    })
  )

  it.live("belongs to the first database", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const bind = (id: string) => Effect.promise(() => DataFolder.bind(folder, id))
      assert.isNull(yield* Effect.promise(() => DataFolder.installation(folder)))
      assert.strictEqual(yield* bind("one"), "one")
      assert.strictEqual(yield* bind("another"), "one")
      assert.strictEqual(yield* Effect.promise(() => DataFolder.installation(folder)), "one")
      yield* Effect.promise(() => writeFile(join(folder, "installation"), "as it was written by hand"))
      assert.strictEqual(yield* bind("another"), "as it was written by hand")
    })
  )

  it.live("is refused for a user who cannot act for the Sandboxes in it; root can for all", () =>
    Effect.gen(function* () {
      const folder = yield* testFolder
      const own = process.getuid!()
      const another = own === 0 ? 12_345 : own + 1
      const refusal = (user: number) => Effect.flip(Effect.tryPromise(() => refuseForeignSandboxes(folder, user)))
      const allowed = (user: number) => Effect.promise(() => refuseForeignSandboxes(folder, user))
      // Each service rewrites its own records.
      yield* Effect.promise(() => mkdir(join(folder, "runtime", "namespace", ".run"), { recursive: true }))
      yield* allowed(another)
      yield* Effect.promise(() => mkdir(join(folder, "runtime", "namespace", "sbx_one"), { recursive: true }))
      yield* allowed(own)
      yield* allowed(0)
      const { cause } = yield* refusal(another)
      assert.match(
        folderSentence(folder, cause),
        new RegExp(`user id ${own} started its Sandboxes.*Start Atoll as user id ${own}`)
      )
    })
  )
})
