import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { DataFolder } from "../../src/dataFolder/DataFolder.ts"
import { testFolder } from "../support/testFolder.ts"

describe("a data folder", () => {
  it.live("has one id, however many ask for it first, and keeps it", () =>
    Effect.gen(function* () {
      const folder = join(yield* testFolder, "of", "nobody")
      yield* Effect.promise(() => DataFolder.make(folder))
      const ids = yield* Effect.promise(() => Promise.all(Array.from({ length: 20 }, () => DataFolder.host(folder))))
      assert.match(ids[0]!, /^host_[0-9a-f]{24}$/)
      assert.deepStrictEqual([...new Set(ids)], [ids[0]!])
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(folder)), ["host"])
      assert.strictEqual(yield* Effect.promise(() => readFile(join(folder, "host"), "utf8")), `${ids[0]}\n`)
    })
  )

  it.live("belongs to the database that asked first", () =>
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
})
