/**
 * Every recorded life folds through the present machines to the state that was stored.
 *
 * A red test after a change of a machine says what the upgrade would do to actors that live: raise the machine's `version` and write the migration, or take
 * the change back. A recorded life is never edited.
 */
import { assert, describe, it } from "vitest"
import { historyKinds } from "../../../src/ops/histories/kinds.ts"
import { foldFault, readHistories, recordedOrigins } from "../../support/histories/History.ts"

const origins = recordedOrigins()

describe.each(origins)("the $kind lives recorded of $origin", ({ file }) => {
  const histories = readHistories(file)

  it("fold to what was stored", () => {
    assert.isNotEmpty(histories)
    for (const [index, history] of histories.entries()) assert.isNull(foldFault(history), `${file}, line ${index + 1}`)
  })

  it("no longer fold when one entry is changed", () => {
    for (const history of histories) {
      const [first, ...others] = history.log
      assert.isNotNull(foldFault({ ...history, log: [{ ...first!, to: "elsewhere" }, ...others] }))
      if (others.length > 0) assert.isNotNull(foldFault({ ...history, log: others }))
      assert.isNotNull(foldFault({ ...history, end: { ...history.end, value: "elsewhere" } }))
    }
  })
})

it("every kind of actor has recorded lives", () => {
  assert.sameMembers([...new Set(origins.map(({ kind }) => kind))], [...historyKinds.keys()])
})
