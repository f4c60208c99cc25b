/** A release of the libraries begins only where their versions agree. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { versionFaults, versionsOf } from "../../../scripts/release/versions.ts"

const root = join(import.meta.dirname, "../../..")

const files = [
  "typescript/package.json",
  "typescript/CHANGELOG.md",
  "typescript/src/version.ts",
  "typescript/src/generated/schemas.ts",
  "python/pyproject.toml",
  "python/CHANGELOG.md",
  "python/src/atoll/_version.py",
  "python/src/atoll/schemas.py"
]

let copy = ""

const edit = (path: string, change: (text: string) => string): void => {
  const file = join(copy, "clients", path)
  writeFileSync(file, change(readFileSync(file, "utf8")))
}

describe("the versions of a release", () => {
  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), "atoll-versions-"))
    for (const file of files) cpSync(join(root, "clients", file), join(copy, "clients", file), { recursive: true })
    assert.isTrue(dirname(copy) === tmpdir())
  })
  afterEach(() => rmSync(copy, { recursive: true, force: true }))

  it("agree now", () => {
    assert.deepStrictEqual(versionFaults(root), [])
    const { typescript, python, description } = versionsOf(root)
    assert.deepStrictEqual([typescript.name, python.name], ["@atoll/client", "atoll"])
    for (const version of [typescript.version, python.version, description]) assert.match(version, /^\d+\.\d+\.\d+$/)
  })

  for (const [what, path, change, sentence] of [
    [
      "a package.json that was raised alone",
      "typescript/package.json",
      (text: string) => text.replace(/"version": "[^"]*"/, '"version": "9.9.9"'),
      /version\.ts says .*, and its package\.json 9\.9\.9/
    ],
    [
      "a change log that was forgotten",
      "python/src/atoll/_version.py",
      () => '__version__ = "9.9.9"\n',
      /clients\/python\/CHANGELOG\.md begins with .*, and the package is 9\.9\.9/
    ],
    [
      "a library that was not made again",
      "python/src/atoll/schemas.py",
      (text: string) => text.replace(/DESCRIPTION_VERSION = ".*"/, 'DESCRIPTION_VERSION = "1.0.0"'),
      /The Python library is of version 1\.0\.0 of the description/
    ],
    [
      "a change log that does not name the description",
      "typescript/CHANGELOG.md",
      (text: string) => text.replace("of the service's description", "of something"),
      /CHANGELOG\.md does not say that .* is of version/
    ]
  ] as const) {
    it(`are refused with ${what}`, () => {
      edit(path, change)
      const faults = versionFaults(copy)
      assert.isAbove(faults.length, 0)
      assert.match(faults.join("\n"), sentence)
    })
  }
})
