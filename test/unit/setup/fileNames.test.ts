import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { fileNameFaults } from "../../../scripts/fileNames/rules.ts"

describe("the rule of file names", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-names-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const plant = (paths: ReadonlyArray<string>, shared: Readonly<Record<string, string>> = {}) => {
    for (const path of paths) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), "")
    }
    return fileNameFaults(folder, shared)
  }

  it("refuses two files of one name, in any case and with any suffix", () => {
    assert.deepStrictEqual(plant(["src/engine/Change.ts", "src/store/change.ts"]), [
      "these files have one name: src/engine/Change.ts, src/store/change.ts. Give each another name."
    ])
    assert.lengthOf(plant(["src/console/pages/a/Life.tsx", "src/console/pages/life.ts"]), 2)
  })

  it("lets a schema, its machine, its page and their tests have one name", () => {
    const paths = ["schemas/Sandbox.ts", "schemas/contexts/Sandbox.ts", "machines/sandbox.ts"]
    const seen = [
      "src/console/pages/Sandbox.tsx",
      "src/sandbox/Sandbox.ts",
      "test/a/Sandbox.test.ts",
      "test/Sandbox.ts"
    ]
    assert.deepStrictEqual(plant([...paths, ...seen]), [])
  })

  it("allows a listed name to return, and refuses a listed one that does not", () => {
    const paths = ["src/host/qemu/probe.ts", "src/host/namespace/probe.ts"]
    assert.deepStrictEqual(plant(paths, { probe: "a part of each driver" }), [])
    assert.deepStrictEqual(plant(paths, { probe: "a part of each driver", launch: "the same" }), [
      "no two files of a room are named launch: take it out of scripts/fileNames/rules.ts"
    ])
  })
})
