/**
 * Every recorded life folds through the present machines to the state that was stored.
 *
 * A red test after a change of a machine says what the upgrade would do to actors that live: raise the machine's `version` and write the migration, or take
 * the change back. A recorded life is never edited.
 */
import { assert, describe, it } from "vitest"
import { HistoryFold } from "../../../src/engine/history/HistoryFold.ts"
import { historyKinds } from "../../../src/ops/histories/kinds.ts"
import { type History, readHistories, recordedOrigins } from "../../support/histories/History.ts"

const faultOf = ({ kind, machineVersion, input, log, end }: History): string | null => {
  const known = historyKinds.get(kind)
  if (known === undefined) return `no machine is called ${kind}`
  if (machineVersion > Number(known.machine.version)) return `version ${machineVersion} is newer than the machine`
  const fold = new HistoryFold(known.machine, input)
  for (const [index, entry] of log.entries()) {
    const fault = fold.take({ ...entry, revision: index + 1 })
    if (fault !== null) return fault
  }
  return fold.end(log.length, known.present(end))
}

const origins = recordedOrigins()

describe.each(origins)("the $kind lives recorded of $origin", ({ file }) => {
  const histories = readHistories(file)

  it("fold to what was stored", () => {
    assert.isNotEmpty(histories)
    for (const [index, history] of histories.entries()) assert.isNull(faultOf(history), `${file}, line ${index + 1}`)
  })

  it("no longer fold when one entry is changed", () => {
    for (const history of histories) {
      const [first, ...others] = history.log
      assert.isNotNull(faultOf({ ...history, log: [{ ...first!, to: "elsewhere" }, ...others] }))
      assert.isNotNull(faultOf({ ...history, log: [...history.log, history.log.at(-1)!] }))
      assert.isNotNull(faultOf({ ...history, end: { ...history.end, value: "elsewhere" } }))
    }
  })
})

it("every kind of actor has recorded lives", () => {
  assert.sameMembers([...new Set(origins.map(({ kind }) => kind))], [...historyKinds.keys()])
})
