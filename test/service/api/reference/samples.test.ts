/** The samples of the description: those in TypeScript compile against the library, those in curl are requests that the service takes. */
import { execFile, spawnSync } from "node:child_process"
import { readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type Endpoint, endpointsOf } from "../../../../src/api/reference/Document.ts"
import { skipped } from "../../../support/host/namespace/TestHost.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { snapshotFile } from "../../../support/snapshot/snapshotFile.ts"
import { testFolder } from "../../../support/testFolder.ts"

const root = join(import.meta.dirname, "../../../..")
const run = promisify(execFile)

const endpoints = (api: TestApi["Service"]) =>
  Effect.promise(async () => endpointsOf((await api.send("GET", "/api/v2/openapi.json", { key: null })).json))

const sampleOf = ({ operation }: Endpoint, label: string): string =>
  operation["x-codeSamples"].find((sample) => sample.label === label)!.source

/** A sample that an account's own key, a handshake or a stream without an end need in another way. */
const notRun = new Set(["revokeKey", "openTerminal", "openTunnel", "streamEvents"])

const noCurl = spawnSync("curl", ["--version"]).status === 0 ? null : "curl is not installed: apt-get install curl"

layer(TestApi.layer(), { excludeTestServices: true })("the samples of the description", (it) => {
  it.effect("in TypeScript compile against the library", () =>
    Effect.gen(function* () {
      const all = yield* endpoints(yield* TestApi)
      const folder = yield* testFolder
      const programs = all.map(
        (one) => `export const ${one.operation.operationId} = async () => {\n${sampleOf(one, "TypeScript")}\n}\n`
      )
      const [, start] = /(const atoll = .*)/.exec(readFileSync(join(root, "schemas/samples/typescript.ts"), "utf8"))!
      const library = join(root, "clients/typescript/src/index.ts")
      writeFileSync(
        join(folder, "samples.ts"),
        `import { Atoll } from ${JSON.stringify(library)}\n${start}\n${programs.join("\n")}`
      )
      writeFileSync(join(folder, "package.json"), '{"type":"module"}')
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
      const flags = ["--noEmit", "--strict", "--skipLibCheck", "--allowImportingTsExtensions", "--module", "nodenext"]
      const libraries = ["--target", "es2024", "--lib", "esnext,dom,dom.asynciterable", "--types", "node"]
      const tsc = join(root, "node_modules/typescript/bin/tsc")
      yield* Effect.promise(() =>
        run(process.execPath, [tsc, ...flags, ...libraries, "samples.ts"], { cwd: folder }).catch(({ stdout }) =>
          assert.fail(String(stdout))
        )
      )
    })
  )

  it.effect.skipIf(skipped(noCurl))("in curl, as a shell runs them, are requests that the service takes", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const all = yield* endpoints(api)
      const folder = yield* testFolder
      for (const name of ["main.py", "src.tar"]) writeFileSync(join(folder, name), "")
      const snapshot = yield* Effect.promise(() => snapshotFile())
      writeFileSync(join(folder, "before.atoll"), snapshot)
      const env = { PATH: process.env["PATH"]!, ATOLL_URL: `http://127.0.0.1:${api.port}`, ATOLL_API_KEY: api.key }
      const taken = async (one: Endpoint) => {
        // The last line, which is the status, comes after the answer's body.
        const line = `${sampleOf(one, "curl")} -sS -w '\\n%{http_code}'`
        const { stdout } = await run("sh", ["-c", line], { cwd: folder, env })
        const status = Number(stdout.slice(stdout.lastIndexOf("\n") + 1))
        const isTaken = (status >= 200 && status < 300) || status === 404
        assert.isTrue(isTaken, `${one.operation.operationId}: ${stdout}`)
      }
      const asked = all.filter(({ operation }) => !notRun.has(operation.operationId))
      yield* Effect.promise(async () => {
        while (asked.length > 0) await Promise.all(asked.splice(0, 8).map(taken))
      })
    })
  )
})
