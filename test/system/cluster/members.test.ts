/** The leftovers of the tests of a cluster: none, even when no cluster starts. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, it } from "vitest"
import { Members } from "./Members.ts"

const before = process.env["TMPDIR"]
const folder = mkdtempSync(join(tmpdir(), "atoll-members-"))

afterAll(() => {
  if (before === undefined) delete process.env["TMPDIR"]
  else process.env["TMPDIR"] = before
  rmSync(folder, { recursive: true, force: true })
})

it("processes that do not start leave no folder behind, and say why", async () => {
  process.env["TMPDIR"] = folder
  const fault = await Members.start(2, "postgres://127.0.0.1:1/none", { ATOLL_RUNTIME: "no such runtime" }).then(
    () => null,
    (fault: Error) => fault
  )
  assert.match(fault?.message ?? "", /ended with .*ATOLL_RUNTIME/s)
  assert.deepStrictEqual(readdirSync(folder), [])
})
