import { assert, describe, it } from "vitest"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { operationMachine } from "../../../machines/operation.ts"
import { previewMachine } from "../../../machines/preview.ts"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import { taggedStates } from "../../../src/engine/taggedStates.ts"

describe("sets of states", () => {
  it("every state of a Sandbox either counts toward the limits or is removed from its host", () => {
    assert.sameMembers(
      [...taggedStates(sandboxMachine, "counted"), ...taggedStates(sandboxMachine, "removed")],
      Object.keys(sandboxMachine.states)
    )
  })

  it("every state of an operation is open or terminal", () => {
    assert.sameMembers(
      [...taggedStates(operationMachine, "open"), ...taggedStates(operationMachine, "terminal")],
      Object.keys(operationMachine.states)
    )
  })

  it.each([previewMachine, serviceAccessMachine, connectionGrantMachine])(
    "the open states of $id are exactly those that handle the end of its Sandbox",
    (machine) => {
      const hears = Object.values(machine.states)
        .filter(({ config }) => "SANDBOX_ENDED" in ((config as { readonly on?: object }).on ?? {}))
        .map(({ key }) => key)
      assert.sameMembers([...taggedStates(machine, "open")], hears)
    }
  )

  it("refuse a name that no state has", () => {
    assert.throws(() => taggedStates(sandboxMachine, "alvie"), "alvie")
  })
})
