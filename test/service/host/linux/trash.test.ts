import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Trash } from "../../../../src/host/linux/Trash.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"
import { eventually } from "../../../support/runtime/contract/commands.ts"

/** Deeper than the longest path. */
const deep = (folder: string) =>
  execFileSync("python3", [
    "-c",
    `import os\nos.chdir(${JSON.stringify(folder)})\nfor _ in range(100):\n  os.mkdir("d"*200); os.chdir("d"*200)`
  ])

const isEmpty = (folder: string) => eventually(Effect.sync(() => readdirSync(folder).length === 0))

describe("trash", () => {
  it("discarded files leave their place immediately and are deleted soon, at any depth", () =>
    inFolder(async (folder) => {
      const trash = new Trash(join(folder, ".trash"))
      for (const name of ["a", "b"]) {
        mkdirSync(join(folder, name))
        deep(join(folder, name))
        await trash.discard(join(folder, name))
        expect(existsSync(join(folder, name))).toBe(false)
      }
      await trash.discard(join(folder, "never"))
      await Effect.runPromise(isEmpty(join(folder, ".trash")))
      await trash.close()
    }))

  it("the next service deletes what an earlier one left", () =>
    inFolder(async (folder) => {
      const before = new Trash(join(folder, ".trash"))
      await before.close()
      mkdirSync(join(folder, "a"))
      deep(join(folder, "a"))
      await before.discard(join(folder, "a"))
      expect(readdirSync(join(folder, ".trash")).length).toBe(1)
      const after = new Trash(join(folder, ".trash"))
      after.empty()
      await Effect.runPromise(isEmpty(join(folder, ".trash")))
      await after.close()
    }))
})
