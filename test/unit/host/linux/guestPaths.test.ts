import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../../../..")
const page = readFileSync(join(root, "docs/architecture/guest-paths.md"), "utf8")

/** Files of the hosts' drivers whose code, not a comment, names a path below /proc. */
const opening = readdirSync(join(root, "src/host"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .filter((entry) =>
    readFileSync(join(entry.parentPath, entry.name), "utf8")
      .split("\n")
      .some((line) => !/^\s*(?:\/?\*|\/\/)/.test(line) && /["'`(,]\s*\/proc\//.test(line))
  )
  .map(({ name }) => name)

it("the page of paths names each file of the drivers that opens a path below /proc", () => {
  assert.isAbove(opening.length, 8)
  assert.deepStrictEqual(
    opening.filter((name) => name !== "bubblewrap.ts" && !page.includes(`\`${basename(name)}\``)),
    []
  )
})

it("no source opens a descriptor of another process", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), "utf8")] as const)
  const reopening = sources.filter(([, text]) => /\/proc\/\$\{(?!process\.pid)[^}]*\}\/fd\//.test(text))
  assert.deepStrictEqual(
    reopening.map(([name]) => name),
    []
  )
})
