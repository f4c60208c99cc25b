/** Which browser `npm run test:all` installs on a Debian machine that has none, or could have a better one. */
import { execFile } from "node:child_process"
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { testFolder } from "../../support/testFolder.ts"

const setup = new URL("../../../scripts/setup.mjs", import.meta.url).href
const shell = "chromium-headless-shell"

const isDebian = (() => {
  try {
    return /^ID=debian$/m.test(readFileSync("/etc/os-release", "utf8"))
  } catch {
    return false
  }
})()

/** The requests to apt-get, or to people where they must run it themselves, in that order. */
const askedFor = (installed: ReadonlyArray<string>, knows: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const folder = yield* testFolder
    const asked = join(folder, "asked")
    writeFileSync(asked, "")
    const program = (name: string, text: string) => {
      writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`)
      chmodSync(join(folder, name), 0o755)
    }
    for (const name of installed) program(name, "exit 1")
    program(
      "apt-get",
      `echo "$@" >> ${asked}; case "$*" in *update|${knows.map((name) => `*" ${name}"`).join("|") || "-"}) ;; *) exit 100; esac`
    )
    symlinkSync("/usr/bin/env", join(folder, "env"))
    const said = yield* Effect.promise(
      () =>
        new Promise<string>((resolve) => {
          const script = `(await import(${JSON.stringify(setup)})).setUpTestPrograms()`
          execFile(
            process.execPath,
            ["--input-type=module", "-e", script],
            { env: { PATH: folder } },
            (_, __, stderr) => resolve(`${stderr}\n${readFileSync(asked, "utf8")}`)
          )
        })
    )
    const names: ReadonlyArray<string> = [
      ...new Set(Array.from(said.matchAll(/--no-install-recommends (chromium\S*)$/gm), ([, name]) => name!))
    ]
    return names
  }).pipe(Effect.scoped)

for (const [about, installed, knows, expected] of [
  ["none: the one without windows", [], [shell], [shell]],
  ["none, and apt-get knows no such one: the whole one", [], [], [shell, "chromium"]],
  ["the whole one: the one without windows as well", ["chromium"], [shell], [shell]],
  ["the whole one, and apt-get knows no other: that will do", ["chromium"], [], [shell]],
  ["the one without windows: nothing", [shell], [], []]
] as const) {
  it.live.skipIf(!isDebian)(`where there is ${about}`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* askedFor(installed, knows), expected)
    })
  )
}
