/** The Python library on every version that it promises and that this machine has: its parts, and on the oldest and the newest the whole job against the real service. */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { it as plainly } from "vitest"
import { linkPackages, pythons } from "../../../../scripts/release/Pythons.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { selfSigned } from "../../../support/selfSigned.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { libraryFolder, pythonObstacle, runPython, writeProgram } from "./Python.ts"
import { runWhole, wholeSettings } from "./whole.ts"

describe("the versions of Python", () => {
  plainly("begin with the oldest that the package promises", () => {
    const [, promised] = /requires-python = ">=(.*)"/.exec(readFileSync(join(libraryFolder, "pyproject.toml"), "utf8"))!
    assert.strictEqual(pythons[0]!.name, `Python ${promised}`)
  })
})

describe.skipIf(skipped(unusable ?? pythonObstacle))("the Python library", () => {
  layer(ServedAtoll.layer(freshDriver(wholeSettings), wholeSettings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    const present = pythons.filter(({ program }) => program !== null)
    /** `library.test.ts` has this machine's own. */
    const doesWhole = new Set([present[0], present.at(-1)])
    for (const python of pythons) {
      const { name, program } = python
      it.effect.skipIf(skipped(program === null ? `${name} is not installed here` : null))(
        `does on ${name} what it promises, in both manners`,
        () =>
          Effect.gen(function* () {
            const served = yield* ServedAtoll
            const folder = yield* testFolder
            const packages = join(folder, "packages")
            mkdirSync(packages)
            const own = { program: program!, packages: [linkPackages(packages)] }
            const { certFile, keyFile } = selfSigned(folder, "python", ["DNS:localhost"])
            yield* Effect.promise(async () => {
              const parts = Object.values(writeProgram(folder, "parts")).map(
                (path) => runPython(path, { CERTIFICATE: certFile, PRIVATE_KEY: keyFile }, own).ended
              )
              await Promise.all(parts)
              if (doesWhole.has(python)) await runWhole(served, folder, name, own)
            })
          })
      )
    }
  })
})
