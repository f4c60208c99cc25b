import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { type Adoption, adoptionOf, runStates, type Seen, seenIn } from "../../../../src/host/qemu/adoption.ts"

const page = readFileSync(join(import.meta.dirname, "../../../../docs/architecture/adoption.md"), "utf8")
const states = ["stopped", "starting", "suspended", "waking", "running"] as const
const everySeen: ReadonlyArray<Seen> = [...runStates, "gone", "unanswered"]

describe("the adoption of a machine", () => {
  it("is as the page shows it, cell by cell", () => {
    const rows = everySeen.map((seen) => `| ${seen} | ${states.map((state) => adoptionOf(state, seen)).join(" | ")} |`)
    const table = [`| QEMU is | ${states.join(" | ")} |`, "| --- | --- | --- | --- | --- | --- |", ...rows].join("\n")
    assert.include(page, table)
  })

  it("shows no machine as running that does not run or cannot go on", () => {
    const runsOn: ReadonlyArray<Adoption> = ["goOn", "resume", "finishWake"]
    for (const seen of ["gone", "unanswered", "guest-panicked", "internal-error", "shutdown"] as const)
      for (const state of states) assert.notInclude(runsOn, adoptionOf(state, seen), `${state} ${seen}`)
    assert.strictEqual(adoptionOf("running", "paused"), "resume")
    assert.strictEqual(adoptionOf("running", "postmigrate"), "resume")
  })

  it("boots no machine again that had run", () => {
    for (const seen of everySeen)
      for (const state of ["running", "suspended", "waking"] as const)
        assert.notStrictEqual(adoptionOf(state, seen), "bootAgain", `${state} ${seen}`)
  })

  it("takes an unknown state of a later QEMU for one of which nothing is known", () => {
    assert.deepStrictEqual([{ status: "paused" }, { status: "teleported" }, {}, null].map(seenIn), [
      "paused",
      "unanswered",
      "unanswered",
      "unanswered"
    ])
  })
})
