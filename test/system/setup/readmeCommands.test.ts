/** Every command of the documents is typed here, or listed with the reason why not. */
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { atollWith } from "../../support/commandLine.ts"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { networkUnusable, skipped } from "../../support/host/namespace/TestHost.ts"
import { pages } from "../../support/setup/readme/pages.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { notRun, reasonsFor } from "./readme/notRun.ts"
import { Reader } from "./readme/Reader.ts"
import { readAlong } from "./readme/readAlong.ts"
import { shown } from "./readme/shown.ts"
import { standInsIn } from "./readme/standIns.ts"
import { toType } from "./readme/toType.ts"

/** A hundred commands and several starts, on a busy machine. */
const patienceMs = 900_000

describe("the documents' commands", () => {
  it("are in blocks of sh, in tables and in sentences; every other block is a file or output", () => {
    const languages = pages.flatMap(({ text }) => Array.from(text.matchAll(/^```(.+)$/gm), ([, language]) => language!))
    assert.deepStrictEqual([...new Set(languages)].toSorted(), [
      "caddy",
      "haproxy",
      "ini",
      "json",
      "nginx",
      "sh",
      "text"
    ])
    for (const { path, text } of pages) assert.notMatch(text.replace(/^```[\s\S]*?^```$/gm, ""), /^ {4}/m, path)
    assert.isAbove(shown.length, 100)
  })

  it("are typed below, or have one reason not to be", () => {
    for (const { command } of notRun)
      assert.isTrue(
        shown.some((one) => command.test(one.command)),
        String(command)
      )
    for (const one of shown) {
      const isTyped = toType.some(({ command }) => command === one.command)
      assert.strictEqual(reasonsFor(one).length, isTyped ? 0 : 1, one.command)
    }
  })

  it.live.skipIf(skipped(networkUnusable))(
    "work, one after the other",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        const empty = Context.get(yield* Layer.build(TestDatabase.empty), TestDatabase)
        const home = yield* testFolder
        mkdirSync(join(home, ".ssh"), { mode: 0o700 })
        execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(home, ".ssh/id_ed25519")])
        const environment = {
          ...compiledOnce,
          PATH: `${standInsIn(home)}:${process.env["PATH"]}`,
          ATOLL_RUNTIME: "namespace",
          ATOLL_PORT: "0",
          ATOLL_DATA_DIR: join(home, "data"),
          ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
          ATOLL_SERVICE_ACCESS: "on",
          ATOLL_COOPERATIVE: "on",
          ATOLL_SSH_PORT: "0",
          DATABASE_URL: url,
          npm_config_update_notifier: "false",
          // The file of npm pack is removed.
          npm_config_pack_destination: home
        }
        yield* Effect.addFinalizer(() => atollWith(environment, "down", "--purge", "--yes"))
        // The commands are typed in the repository's folder.
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            for (const name of ["snapshot.atoll", "image.tar"]) rmSync(name, { force: true })
          })
        )
        const reader = yield* Effect.acquireRelease(
          Effect.sync(() => new Reader(home, environment)),
          (reader) => Effect.promise(() => reader.close())
        )
        yield* Effect.promise(() => readAlong(reader, home, empty.url))
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare)),
    patienceMs
  )
})
