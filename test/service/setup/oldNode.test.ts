/** An old Node is refused with a sentence before anything can fail. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

const scripts = join(import.meta.dirname, "../../../scripts")

/** The version of Node 18, and what it lacks of the APIs that the scripts might use. */
const old = `
import { registerHooks } from "node:module"
Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.4" } })
registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    return url.includes("/scripts/")
      ? { ...loaded, source: "delete import.meta.dirname; delete import.meta.filename; " + loaded.source }
      : loaded
  }
})`

/** Exit code and all output. */
const run = (script: string) =>
  Effect.promise(async () => {
    const child = spawn(
      process.execPath,
      ["--import", `data:text/javascript,${encodeURIComponent(old)}`, join(scripts, script)],
      { stdio: ["ignore", "pipe", "pipe"], env: { PATH: process.env["PATH"], ATOLL_RUNTIME: "simulated" } }
    )
    let said = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        said += chunk
      })
    }
    const [code] = await once(child, "close")
    return { code, said }
  })

for (const script of ["up.mjs", "test.mjs", "check.mjs", "vm.mjs", "asked.mjs"]) {
  it.live(`scripts/${script} names the Node that it needs to an older one, and prints nothing else`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run(script), {
        code: 1,
        said: "This is Node 18.20.4; Atoll's scripts need Node 20 or newer.\n"
      })
    })
  )
}
