/** The simulator opens the path of a violation, and steps through it as the explored machine did. */
import { assert, beforeAll, describe, it } from "vitest"
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import { opened, pathIn } from "../../../../src/console/pages/machine/openedPath.ts"
import type { Step } from "../../../../src/console/pages/machine/played.ts"
import { samples } from "../../../../src/console/pages/machine/samples.ts"
import { begin, decide } from "../../../../src/console/pages/machine/simulate.ts"
import { simulatorLink } from "../../../../src/proofs/explore/pathReport.ts"
import { violationLinks } from "../../../../src/proofs/explore/summary.ts"
import { plantedPath } from "../../../support/console/pages/plantedPath.ts"

let planted: Awaited<ReturnType<typeof plantedPath>>
beforeAll(async () => {
  planted = await plantedPath()
})

const firstOf = (machine: typeof sandboxMachine): Step => ({
  event: null,
  from: null,
  before: null,
  ...begin(machine, samples.sandbox.input(1_700_000_000_000))
})

describe("the path of a planted fault", () => {
  it("is the same when its link is opened, and is none of another machine", () => {
    const { path, violation } = planted
    const link = simulatorLink(path)
    assert.match(link, /^\/console\/machines\/sandbox#path=[\w-]+$/)
    const fragment = link.slice(link.indexOf("#"))
    assert.deepStrictEqual(pathIn(fragment, "sandbox"), JSON.parse(JSON.stringify(path)))
    assert.isNull(pathIn(fragment, "operation"))
    assert.isNull(pathIn("#path=bm90IEpTT04", "sandbox"))
    assert.isNull(pathIn("", "sandbox"))
    assert.include(
      violationLinks(violation, () => true),
      `${path.actor}: ${link}`
    )
    assert.notInclude(
      violationLinks(violation, () => false),
      link
    )
  })

  it("is walked by the explored machine to the state that breaks the invariant", () => {
    const { path, machine } = planted
    const first = firstOf(machine as typeof sandboxMachine)
    for (let count = 0; count <= path.moments.length; count++) {
      const { steps, differs } = opened(machine, first, path, count)
      assert.isNull(differs)
      const state = count === 0 ? "pending" : path.moments[count - 1]!.sent.at(-1)!.state
      assert.strictEqual(steps.at(-1)!.snapshot.value, state)
    }
  })

  it("shows where the machine without the fault answers otherwise", () => {
    const { path } = planted
    const { differs } = opened(sandboxMachine, firstOf(sandboxMachine), path, path.moments.length)
    assert.match(differs!, /the explored machine said accepted .*, and this one says refused/)
  })
})

it("a state of the path decides about every event as XState's own restored state does", () => {
  const first = firstOf(sandboxMachine)
  const { context } = first.snapshot
  for (const value of Object.keys(sandboxMachine.states)) {
    const before = { value, context: { generation: 1 } }
    const path = { actor: "sandbox", kind: "sandbox", moments: [{ by: "client", label: "", before, sent: [] }] }
    const mine = opened(sandboxMachine, first, path, 1).steps.at(-1)!.snapshot
    const theirs = sandboxMachine.resolveState({ value: value as never, context })
    for (const [type, parameters] of Object.entries(samples.sandbox.parameters)) {
      const event = { type, at: context.createdAt, ...parameters(context as never) }
      const [one, other] = [decide(sandboxMachine, mine, event), decide(sandboxMachine, theirs, event)]
      assert.strictEqual(one.type, other.type)
      if (one.type !== "accepted" || other.type !== "accepted") continue
      assert.strictEqual(one.snapshot.value, other.snapshot.value)
      assert.deepStrictEqual(one.snapshot.context, other.snapshot.context)
      assert.deepStrictEqual(one.commands, other.commands)
      assert.deepStrictEqual([...one.snapshot.tags], [...other.snapshot.tags])
    }
  }
})
