/** What `npm start` sets for glibc: everywhere the same, and for the service alone. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"

const root = join(import.meta.dirname, "../../..")
const { startEnvironment } = (await import(join(root, "scripts/startEnvironment.mjs"))) as {
  readonly startEnvironment: (sources: string) => Readonly<Record<string, string>>
}
const settings = startEnvironment(root)

it("the container and the unit of systemd set what npm start sets", () => {
  assert.deepStrictEqual(Object.keys(settings), [
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_"
  ])
  for (const file of ["Dockerfile", "docs/operating.md"])
    for (const [name, value] of Object.entries(settings))
      assert.include(readFileSync(join(root, file), "utf8"), `${name}=${value}`, file)
})

it("what the service starts does not get it", () => {
  const seen = `process.on("exit", () => console.log(JSON.stringify(Object.keys(process.env))))`
  // It ends by itself: there is no such port.
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(seen)}`, "src/main.mjs"],
    { cwd: root, env: { ...process.env, ...settings, ATOLL_PORT: "70000" }, encoding: "utf8" }
  )
  assert.strictEqual(status, 78)
  const names = JSON.parse(stdout.trim().split("\n").at(-1)!) as ReadonlyArray<string>
  assert.include(names, "ATOLL_PORT")
  assert.deepStrictEqual(
    names.filter((name) => name in settings),
    []
  )
})
