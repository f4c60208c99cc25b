/** The TypeScript library as it is published: packed, installed in an empty folder, and used from there. */
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { build } from "esbuild"
import { descriptionVersion } from "../../../../clients/typescript/src/generated/schemas.ts"
import { libraryVersion } from "../../../../clients/typescript/src/version.ts"
import { testFolder } from "../../../support/testFolder.ts"

const root = join(import.meta.dirname, "../../../..")
const folder = join(root, "clients/typescript")
const path = [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter)
const env = { ...process.env, PATH: path }
const run = promisify(execFile)

const program = `
  import { Atoll, AtollError, ConnectionError } from "@atoll/client"
  const atoll = new Atoll({ apiKey: "nobody's", url: "http://127.0.0.1:9", patienceSeconds: 0 })
  const thrown = await atoll.me().catch((thrown) => thrown)
  console.log(thrown instanceof ConnectionError, thrown instanceof AtollError, typeof atoll.sandboxes.create)
`

it.effect("is packed, installed and imported; its versions agree", () =>
  Effect.gen(function* () {
    const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const [newest] = /^## .*$/m.exec(readFileSync(join(folder, "CHANGELOG.md"), "utf8"))!
    assert.deepStrictEqual([version, newest], [libraryVersion, `## ${libraryVersion}`])
    const at = yield* testFolder
    yield* Effect.promise(async () => {
      await run("npm", ["pack", "--pack-destination", at], { cwd: folder, env })
      const [packed] = readdirSync(at)
      writeFileSync(join(at, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }))
      await run("npm", ["install", "--offline", "--no-audit", "--no-fund", `./${packed}`], { cwd: at, env })
      const installed = join(at, "node_modules", name)
      assert.include(readFileSync(join(installed, "CHANGELOG.md"), "utf8"), `version ${descriptionVersion}`)
      assert.isFalse(readdirSync(installed).includes("src"), "what is published is what runs")
      writeFileSync(join(at, "use.js"), program)
      const { stdout } = await run(process.execPath, ["use.js"], { cwd: at, env })
      assert.strictEqual(stdout, "true false function\n")
      const atoll = await run(join(at, "node_modules/.bin/atoll"), ["--version"], { cwd: at, env })
      assert.match(
        atoll.stdout,
        new RegExp(`^atoll ${libraryVersion} \\(API ${descriptionVersion}, Node v?[\\d.]+\\)\n$`)
      )
      // And its types, as a strict compiler reads them.
      writeFileSync(
        join(at, "use.ts"),
        `import { Atoll, AtollError } from "@atoll/client"
         const use = async (atoll: Atoll) => {
           const { exitCode }: { exitCode: number | null } = await (await atoll.sandboxes.create()).run(["true"])
           return exitCode
         }
         export const many = (thrown: unknown) =>
           thrown instanceof AtollError && thrown.is("TEXT_AMBIGUOUS") ? thrown.details.occurrences : use
         export const tunnel = async (atoll: Atoll) => {
           const { name }: { name: string } = (await (await atoll.sandboxes.get("sbx_1")).terminal()).constructor
           return [name, (await atoll.sandboxes.get("sbx_1")).tunnel(80)]
         }
         // @ts-expect-error There is no such code.
         export const wrong = (thrown: AtollError) => thrown.is("NO_SUCH_CODE")
        `
      )
      const flags = [
        "--noEmit",
        "--strict",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--lib",
        "es2022,esnext.disposable,dom"
      ]
      await run("tsc", [...flags, "use.ts"], { cwd: at, env }).catch(({ stdout }) => assert.fail(String(stdout)))
      // With types of Node, a tunnel is a stream of it.
      mkdirSync(join(at, "node_modules/@types"))
      for (const types of ["@types/node", "undici-types"])
        symlinkSync(join(root, "node_modules", types), join(at, "node_modules", types))
      writeFileSync(
        join(at, "stream.ts"),
        `import type { Duplex } from "node:stream"
         import type { TunnelStream } from "@atoll/client"
         export const stream = (tunnel: TunnelStream): Duplex => tunnel
         // @ts-expect-error It is none.
         export const wrong = (tunnel: TunnelStream): Map<string, string> => tunnel
        `
      )
      const withNode = [...flags, "--types", "node", "--skipLibCheck", "stream.ts"]
      await run("tsc", withNode, { cwd: at, env }).catch(({ stdout }) => assert.fail(String(stdout)))
      // A page's bundler finds nothing of Node.
      const page = await build({
        stdin: { contents: 'import { Atoll } from "@atoll/client"; globalThis.Atoll = Atoll', resolveDir: at },
        bundle: true,
        platform: "browser",
        format: "iife",
        write: false,
        logLevel: "silent"
      })
      assert.notMatch(page.outputFiles[0]!.text, /["']node:/)
    })
  })
)
