/** The TypeScript library and its command line, as they are published, on every engine that they promise, against the real service. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { build } from "esbuild"
import { it as plainly } from "vitest"
import { Atoll } from "../../../../clients/typescript/src/index.ts"
import { type Engine, engines } from "../../../../scripts/release/ClientEngines.ts"
import { freePort } from "../../../support/freePort.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { runProgram } from "../runProgram.ts"
import { installLibrary, runTsc, typescriptFolder } from "../typescript/installLibrary.ts"

const settings = { ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2), ATOLL_SERVICE_ACCESS: "on" }

/** `fixtures/whole.ts` as a user has it: over the package that is installed beside it. */
const writeProgram = async (folder: string): Promise<string> => {
  const path = join(folder, "whole.mjs")
  await build({
    entryPoints: [join(import.meta.dirname, "fixtures/whole.ts")],
    outfile: path,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    logLevel: "silent",
    plugins: [
      {
        name: "the installed package",
        setup: ({ onResolve }) => {
          onResolve({ filter: /clients\/typescript\/src\/index\.ts$/ }, () => ({
            path: "@atoll/client",
            external: true
          }))
        }
      }
    ]
  })
  return path
}

const run = (
  { program, words }: Engine,
  args: ReadonlyArray<string>,
  environment: Record<string, string>,
  cwd: string
) => runProgram(program, [...words, ...args], { PATH: process.env["PATH"]!, HOME: cwd, ...environment }, cwd).ended

describe("the engines of the TypeScript library", () => {
  plainly("are those that its package promises", () => {
    const { engines: promised } = JSON.parse(readFileSync(join(typescriptFolder, "package.json"), "utf8"))
    const nodes = engines.filter(({ isNode }) => isNode).map(({ name }) => name)
    assert.strictEqual(`>=${nodes[0]!.slice("Node ".length)}`, promised.node)
  })
})

describe.skipIf(skipped(unusable))("the TypeScript library", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    for (const engine of engines) {
      const isSkipped = skipped(engine.obstacle === null ? null : `${engine.name}: ${engine.obstacle}`)
      it.effect.skipIf(isSkipped)(`does on ${engine.name} what it promises`, () =>
        Effect.gen(function* () {
          const { port, key } = yield* ServedAtoll
          const folder = yield* testFolder
          yield* Effect.promise(async () => {
            await installLibrary(folder)
            const environment = { ATOLL_URL: `http://127.0.0.1:${port}`, ATOLL_API_KEY: key }
            const args = [await writeProgram(folder), folder]
            const said = await run(engine, args, { ...environment, NOBODYS_PORT: String(await freePort()) }, folder)
            assert.match(said, /(^|\n)done\n$/)
          })
        })
      )

      it.effect.skipIf(isSkipped || !engine.isNode)(`has on ${engine.name} a command line that copies and runs`, () =>
        Effect.gen(function* () {
          const { port, key } = yield* ServedAtoll
          const folder = yield* testFolder
          yield* Effect.promise(async () => {
            const installed = await installLibrary(folder)
            await runTsc(folder, "-p", join(typescriptFolder, "src/cli"), "--outDir", join(installed, "dist"))
            const url = `http://127.0.0.1:${port}`
            await using sandbox = await new Atoll({ apiKey: key, url }).sandboxes.create()
            const atoll = (...words: ReadonlyArray<string>) =>
              run(
                engine,
                [join(installed, "dist/cli/main.js"), ...words],
                { ATOLL_URL: url, ATOLL_API_KEY: key },
                folder
              )
            mkdirSync(join(folder, "in"))
            writeFileSync(join(folder, "in/file"), "content")
            await atoll("cp", "in", `${sandbox.id}:`)
            assert.strictEqual(await atoll("run", "-s", sandbox.id, "--", "cat", "in/file"), "content")
            await sandbox.run(["bash", "-c", "printf latin > in/$'caf\\xe9'"])
            await atoll("cp", `${sandbox.id}:in`, "out")
            assert.strictEqual(readFileSync(join(folder, "out/file"), "utf8"), "content")
            const latin = Buffer.concat([Buffer.from(`${folder}/out/caf`), Buffer.from([0xe9])])
            assert.strictEqual(readFileSync(latin, "utf8"), "latin")
            // One file, under the name that the service shows.
            await atoll("cp", `${sandbox.id}:in/caf\u{10fee9}`, ".")
            const single = Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])])
            assert.strictEqual(readFileSync(single, "utf8"), "latin")
          })
        })
      )
    }
  })
})
