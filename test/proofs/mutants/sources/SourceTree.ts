/** A copy of the sources in which a mistake is made. What runs there sees nothing of this folder but its packages, and this folder nothing of what runs there. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { mutated, type TextMutant } from "./TextMutant.ts"

const root = join(import.meta.dirname, "../../../..")
const left = new Set([".git", "node_modules"])

/** The suites of mistakes start no program, so none is bundled for them; and those of `test/unit` need neither a database nor a description of the API. */
const configuration = (without: ReadonlyArray<string>) => `import all from "./vitest.config.ts"
const { globalSetup, ...test } = all.test
const without = ${JSON.stringify(without)}
export default { ...all, test: { ...test, globalSetup: globalSetup.filter((file) => !without.some((one) => file.includes(one))) } }
`

export class SourceTree implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "atoll-mutants-"))

  constructor() {
    for (const name of readdirSync(root)) {
      if (!left.has(name)) cpSync(join(root, name), join(this.folder, name), { recursive: true })
    }
    // Linked one by one: caches of what is made from sources are kept among the packages, and must not hold a mistake.
    const packages = join(this.folder, "node_modules")
    mkdirSync(packages)
    for (const name of readdirSync(join(root, "node_modules"))) {
      if (name !== ".cache") symlinkSync(join(root, "node_modules", name), join(packages, name))
    }
    writeFileSync(join(this.folder, "units.config.ts"), configuration(["BundledPrograms", "TestPostgres", "described"]))
    writeFileSync(join(this.folder, "all.config.ts"), configuration(["BundledPrograms"]))
  }

  /** Vitest's configuration for these test files. */
  configurationFor(suites: ReadonlyArray<string>): string {
    return join(
      this.folder,
      suites.every((file) => file.startsWith("test/unit/")) ? "units.config.ts" : "all.config.ts"
    )
  }

  /** The mistake stands in the copy until the result is called. */
  make(mutant: TextMutant): () => void {
    const path = join(this.folder, mutant.file)
    const good = readFileSync(path)
    writeFileSync(path, mutated(this.folder, mutant))
    return () => writeFileSync(path, good)
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
