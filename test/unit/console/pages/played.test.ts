/** The simulator takes the events that an exploration prints, as one list. */
import { assert, describe, it } from "vitest"
import { operationMachine } from "../../../../machines/operation.ts"
import { eventsOf, played, type Step } from "../../../../src/console/pages/machine/played.ts"
import { begin } from "../../../../src/console/pages/machine/simulate.ts"

const at = 1_700_000_000_000
const input = { operationId: "op_1", accountId: "acc_1", sandboxId: "sbx_1", generation: 1, timeoutMs: null, at }
const first: Step = { event: null, from: null, before: null, ...begin(operationMachine, input) }

describe("the simulator's text", () => {
  it("is the parameters of one event, which happens now", () => {
    assert.deepStrictEqual(eventsOf('{ "exitCode": 0 }', "EXITED", at), [{ type: "EXITED", at, exitCode: 0 }])
  })

  it("may be a list of events of other types, with instants of their own", () => {
    const text = '[{ "type": "STARTED" }, { "type": "CANCEL", "at": 5 }]'
    assert.deepStrictEqual(eventsOf(text, "EXITED", at), [
      { type: "STARTED", at },
      { type: "CANCEL", at: 5 }
    ])
  })
})

describe("a list of events", () => {
  it("is sent one by one, also after a refusal", () => {
    const events = ["STARTED", "TIME_OUT", "CANCEL"].map((type) => ({ type, at }))
    const { steps, attempt } = played(operationMachine, [first], events)
    assert.deepStrictEqual(
      steps.map(({ from, snapshot }) => [from, snapshot.value]),
      [
        [null, "queued"],
        ["queued", "running"],
        ["running", "cancelled"]
      ]
    )
    assert.deepInclude(attempt, { state: "running", event: events[2]! })
  })

  it("that is empty changes nothing", () => {
    assert.deepStrictEqual(played(operationMachine, [first], []), { steps: [first], attempt: null })
  })
})
