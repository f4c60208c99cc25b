import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"

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

const temporaryFolder = () => mkdtempSync(join(tmpdir(), "atoll-compiled-"))

it("compiled code is kept beside the packages, or where NODE_COMPILE_CACHE says", () => {
  assert.isTrue(folderWith({}).startsWith(join(root, "node_modules/.cache/compiled")))
  const folder = temporaryFolder()
  const other = folderWith({ NODE_COMPILE_CACHE: folder })
  assert.isTrue(other.startsWith(folder))
  assert.isNotEmpty(readdirSync(other))
  rmSync(folder, { recursive: true })
})

it("a start goes on where the folder cannot be made", () => {
  assert.strictEqual(folderWith({ NODE_COMPILE_CACHE: "/dev/null/nothing" }), "undefined")
})

/** Says at its end whether Node has loaded its compiler of TypeScript. */
const telling = `data:text/javascript,process.on("exit", () => console.log(process.moduleLoadList.some((name) => name.includes("amaro"))))`

describe("a second start does not load the compiler of TypeScript", () => {
  for (const [program, args, code] of [
    ["src/main.mjs", [], 78],
    ["src/cli/atoll.mjs", ["keys", "--help"], 0]
  ] as const) {
    it(program, () => {
      const folder = temporaryFolder()
      const start = () => {
        const { status, stdout, stderr } = spawnSync(
          process.execPath,
          ["--import", telling, join(root, program), ...args],
          // A port that the settings refuse: by then all modules are loaded.
          { encoding: "utf8", env: { NODE_COMPILE_CACHE: folder, ATOLL_PORT: "70000" } }
        )
        assert.strictEqual(status, code, stderr)
        return stdout.trim().split("\n").at(-1)
      }
      assert.strictEqual(start(), "true")
      assert.strictEqual(start(), "false")
      rmSync(folder, { recursive: true })
    })
  }
})
