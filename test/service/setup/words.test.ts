import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { budgetFaults, wordPlaces } from "../../../scripts/words/count.ts"

describe("the budget of words", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-words-"))
    execFileSync("git", ["init", "-q", folder])
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it("counts whole words and phrases, over the end of a comment's line, and not in copies", () => {
    const files = {
      "src/A.ts": "/** Whoever is\n * told, or Nobody's */\nconst anewest = 1\n// at\n// once\n",
      "docs/settings.md": "anew\n<!-- settings: npm run docs -->\n| anew |\n<!-- /settings -->\n",
      "docs/rules.md": "anew\n",
      "clients/typescript/src/generated/schemas.ts": "anew\n",
      "bench/a.ts": "anew\n"
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const found = Object.entries(wordPlaces(folder)).filter(([, places]) => places.length > 0)
    assert.deepStrictEqual(found, [
      ["whoever", ["src/A.ts:1"]],
      ["nobody", ["src/A.ts:2"]],
      ["anew", ["docs/settings.md:1"]],
      ["is told", ["src/A.ts:1"]],
      ["at once", ["src/A.ts:4"]]
    ])
  })

  it("lets no count rise, and asks for the lower one when it falls", () => {
    const none = Object.fromEntries(Object.keys(wordPlaces(folder)).map((word) => [word, 0]))
    assert.deepStrictEqual(budgetFaults({ ...none, anew: 3 }, { anew: 3 }), [])
    assert.match(budgetFaults({ ...none, anew: 4 }, { anew: 3 }).join(), /^"anew" stands 4 times, 3 are allowed/)
    assert.match(budgetFaults({ ...none, anew: 2 }, { anew: 3 }).join(), /lower it to 2$/)
    assert.match(budgetFaults({ ...none, nobody: 1 }, {}).join(), /^"nobody" stands 1 times, 0 are allowed/)
  })
})
