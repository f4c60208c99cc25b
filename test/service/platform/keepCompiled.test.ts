import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"

const root = join(import.meta.dirname, "../../..")
const source = join(root, "src/platform/compileCache/keepCompiled.ts")

const folderWith = (environment: Readonly<Record<string, string>>): string =>
  execFileSync(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import { getCompileCacheDir } from "node:module"
       const { keepCompiled } = await import(${JSON.stringify(source)})
       keepCompiled()
       await import(${JSON.stringify(join(root, "machines/preview.ts"))})
       console.log(getCompileCacheDir())`
    ],
    { encoding: "utf8", env: environment }
  ).trim()

it("compiled code is kept beside the packages, or where NODE_COMPILE_CACHE says", () => {
  assert.isTrue(folderWith({}).startsWith(join(root, "node_modules/.cache/compiled")))
  const folder = mkdtempSync(join(tmpdir(), "atoll-compiled-"))
  const other = folderWith({ NODE_COMPILE_CACHE: folder })
  assert.isTrue(other.startsWith(folder))
  assert.isNotEmpty(readdirSync(other))
  rmSync(folder, { recursive: true })
})

it("a start goes on where the folder cannot be made", () => {
  assert.strictEqual(folderWith({ NODE_COMPILE_CACHE: "/dev/null/nothing" }), "undefined")
})
