/** The Python library as it is published: a wheel, installed in an environment of its own and used from there; its types, and its README's. */
import { execFile } from "node:child_process"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pythonSamples, pythonStart } from "../../../../schemas/samples/python.ts"
import { plainEnvironment } from "../../../../scripts/release/Pythons.ts"
import { skipped } from "../../../support/host/namespace/TestHost.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { libraryFolder, packagingObstacle, programNames, python, writeProgram } from "./Python.ts"
import { blocksOf, programOf } from "./readme.ts"

const run = promisify(execFile)
const text = (name: string) => readFileSync(join(libraryFolder, name), "utf8")

const program = `
import asyncio, importlib.metadata, atoll

async def main():
    async with atoll.AsyncAtoll(api_key="nobody's", url="http://127.0.0.1:9", patience_seconds=0) as client:
        try:
            await client.me()
        except atoll.ConnectionError as error:
            return error.outcome

print(asyncio.run(main()), atoll.__version__ == importlib.metadata.version("atoll"), atoll.__file__)
`

describe.skipIf(skipped(packagingObstacle))("the Python library's package", () => {
  it.effect("is built, installed and imported; its versions agree", () =>
    Effect.gen(function* () {
      const [, version] = /__version__ = "(.*)"/.exec(text("src/atoll/_version.py"))!
      const [, described] = /DESCRIPTION_VERSION = "(.*)"/.exec(text("src/atoll/schemas.py"))!
      assert.strictEqual(/^## .*$/m.exec(text("CHANGELOG.md"))![0], `## ${version}`)
      assert.include(text("CHANGELOG.md"), `version ${described} of the service's description`)
      const at = yield* testFolder
      yield* Effect.promise(async () => {
        // What is built leaves files beside its sources.
        const sources = join(at, "sources")
        cpSync(libraryFolder, sources, { recursive: true })
        const offline = { cwd: at, env: { ...plainEnvironment, PIP_NO_INDEX: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1" } }
        const wheel = ["wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", at, sources]
        await run(python, ["-m", "pip", ...wheel], offline)
        const [built] = readdirSync(at).filter((name) => name.endsWith(".whl"))
        assert.strictEqual(built, `atoll-${version}-py3-none-any.whl`)
        // Its pip is Debian's: what it depends on is there.
        await run(python, ["-m", "venv", "--system-site-packages", "--without-pip", "user"], offline)
        const own = join(at, "user/bin/python3")
        await run(own, ["-m", "pip", "install", "--quiet", join(at, built!)], offline)
        writeFileSync(join(at, "use.py"), program)
        const { stdout } = await run(own, ["use.py"], offline)
        assert.match(stdout, /^notApplied True .*\/user\/lib\/.*\n$/)
        const { stdout: listed } = await run(own, ["-m", "pip", "show", "--files", "atoll"], offline)
        assert.include(listed, "atoll/py.typed")
        assert.match(listed, /Requires: httpx/)
      })
    })
  )

  it.effect(
    "passes mypy --strict, as its examples, the programs of its tests, its README and the samples of the reference do",
    () =>
      Effect.gen(function* () {
        const at = yield* testFolder
        const programs = programNames.flatMap((name) => Object.values(writeProgram(at, name)))
        const blocks = blocksOf(text("README.md")).map((block, index) => {
          const path = join(at, `readme_${index}.py`)
          writeFileSync(path, programOf(block))
          return path
        })
        assert.isAbove(blocks.length, 5)
        // Those of the reference.
        const samples = Object.entries(pythonSamples).map(([operationId, sample]) => {
          const path = join(at, `sample_${operationId}.py`)
          writeFileSync(path, `${pythonStart}\n${sample}\n`)
          return path
        })
        yield* Effect.promise(async () => {
          const library = join(libraryFolder, "src")
          const flags = ["--strict", "--python-version", "3.9", "--no-incremental", "--no-error-summary"]
          const env = { ...plainEnvironment, MYPYPATH: library }
          const examples = join(libraryFolder, "examples")
          const files = [join(library, "atoll"), join(at, "support.py"), ...programs, ...blocks, ...samples, examples]
          await run(python, ["-m", "mypy", ...flags, ...files], { cwd: at, env }).catch(({ stdout, stderr }) =>
            assert.fail(`${stdout}${stderr}`)
          )
        })
      })
  )
})
