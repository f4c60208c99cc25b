/** The folder of a test says what the test needs, and so which command runs it (CONTRIBUTING.md). */
import { globSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../../..")

it("every test lies in test/unit, test/service or test/system", () => {
  const astray = globSync("{test,src,machines,schemas,bench,scripts,clients}/**/*.test.ts", {
    cwd: root,
    exclude: (name) => name === "node_modules"
  }).filter((file) => !/^test\/(unit|service|system)\//.test(file))
  assert.deepStrictEqual(astray, [])
})
