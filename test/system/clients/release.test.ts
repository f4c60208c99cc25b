/** `npm run release`: builds both packages, uses them in clean rooms, and says what it would publish, without publishing. */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { engines } from "../../../scripts/release/ClientEngines.ts"
import { pythons } from "../../../scripts/release/Pythons.ts"
import { skipped } from "../../support/host/namespace/TestHost.ts"
import { testFolder } from "../../support/testFolder.ts"
import { packagingObstacle } from "./python/Python.ts"

const root = join(import.meta.dirname, "../../..")
const run = promisify(execFile)

const release = (...args: ReadonlyArray<string>) =>
  run(process.execPath, [join(root, "scripts/release.ts"), ...args], { cwd: root })

const repository = "https://example.com/atoll.git"

describe.skipIf(skipped(packagingObstacle))("a release of the libraries", () => {
  it.effect(
    "is built, used in clean rooms and described, and is not published unless that is asked for",
    () =>
      Effect.gen(function* () {
        const out = join(yield* testFolder, "out")
        mkdirSync(out)
        yield* Effect.promise(async () => {
          const { stdout } = await release("--dry-run", "--out", out, "--repository", repository)
          const rooms = [
            ...engines.filter(({ obstacle }) => obstacle === null).map(({ name }) => name),
            ...pythons.filter(({ program }) => program !== null).map(({ name }) => name),
            "npx, without an installation",
            "types, by a strict compiler"
          ]
          for (const name of rooms) assert.match(stdout, new RegExp(`^  ok       ${name.replaceAll(".", "\\.")}$`, "m"))
          assert.notInclude(stdout, "FAILED")
          assert.match(
            stdout,
            /^Would publish @atoll\/client \d+\.\d+\.\d+ and atoll \d+\.\d+\.\d+:\n {2}npm publish .*\.tgz\n/m
          )
          assert.match(stdout, /^ {2}python3 -m twine upload .*\.whl .*\.tar\.gz$/m)

          const { commit, packages, ...told } = JSON.parse(readFileSync(join(out, "provenance.json"), "utf8"))
          assert.match(commit, /^[0-9a-f]{40}$/)
          assert.strictEqual(told.repository, repository)
          assert.lengthOf(packages, 3)
          for (const { name, sha256 } of packages) {
            const found = createHash("sha256")
              .update(readFileSync(join(out, name)))
              .digest("hex")
            assert.strictEqual(found, sha256, name)
          }

          const nameOf = (end: string): string =>
            join(out, packages.find(({ name }: { readonly name: string }) => name.endsWith(end)).name)
          const listed = (await run("tar", ["tzf", nameOf(".tgz")])).stdout.split("\n")
          const kept = ["README.md", "CLI.md", "CHANGELOG.md", "dist/index.js", "dist/index.d.ts", "dist/cli/main.js"]
          assert.includeMembers(
            listed,
            kept.map((name) => `package/${name}`)
          )
          assert.deepStrictEqual(
            listed.filter((name) => /\/(?:src|test|examples)\//.test(name)),
            []
          )
          const manifest = JSON.parse((await run("tar", ["xzOf", nameOf(".tgz"), "package/package.json"])).stdout)
          assert.deepStrictEqual(manifest.repository, { type: "git", url: repository, directory: "clients/typescript" })
          assert.deepInclude(manifest, { gitHead: commit, license: "UNLICENSED", publishConfig: { provenance: true } })
          assert.deepStrictEqual(manifest.bin, { atoll: "dist/cli/main.js" })
          const wheel = (await run("python3", ["-m", "zipfile", "-l", nameOf(".whl")])).stdout
          assert.include(wheel, "atoll/py.typed")
          const program =
            "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.read([n for n in z.namelist() if n.endswith('METADATA')][0]).decode())"
          const metadata = (await run("python3", ["-c", program, nameOf(".whl")])).stdout
          assert.include(metadata, `Project-URL: Source, ${repository}`)
          assert.include(metadata, "Classifier: Typing :: Typed")
        })
      }),
    300_000
  )

  it.effect("is not published without the address of its sources", () =>
    Effect.gen(function* () {
      const out = join(yield* testFolder, "out")
      const { code, stderr } = yield* Effect.promise(() => release("--publish", "--out", out).catch((error) => error))
      assert.strictEqual(code, 1)
      assert.include(stderr, "--repository URL")
    })
  )
})
