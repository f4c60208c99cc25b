import { assert, describe, it } from "vitest"
import type { OperationContext } from "../../../schemas/contexts/Operation.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"
import { isEnd, walk } from "../../support/machines/walk.ts"

const source = machineSources.find(({ name }) => name === "operation")!
const reached = [...walk(source).values()]

/** @source contract-details.md "Immutable once terminal" */
const resultOf = (value: unknown, context: unknown) => {
  const { exitCode, signal, reason, finishedAt } = context as OperationContext
  return { status: value, exitCode, signal, reason, finishedAt }
}

describe("the Operation machine", () => {
  it("never changes a terminal result", () => {
    for (const { snapshot, steps } of reached) {
      if (!isEnd(snapshot)) continue
      const before = resultOf(snapshot.value, snapshot.context)
      for (const { event, to } of steps) {
        const { value, context } = JSON.parse(to)
        assert.deepStrictEqual(resultOf(value, context), before, event.type)
      }
    }
  })

  it("answers a late cancel with the first result", () => {
    for (const { snapshot, steps } of reached) {
      for (const { event, verdict } of steps) {
        if (event.type !== "CANCEL") continue
        if (isEnd(snapshot)) assert.strictEqual(verdict.type, "unchanged")
        else assert.isTrue(verdict.type === "accepted" && verdict.snapshot.value === "cancelled")
      }
    }
  })

  it("has an end with an instant, and a reason whenever it failed, else only if the command's exit has one", () => {
    for (const { snapshot } of reached) {
      const { finishedAt, reason, exitCode } = snapshot.context as OperationContext
      assert.strictEqual(finishedAt !== null, isEnd(snapshot))
      if (snapshot.value === "failed") assert.isNotNull(reason)
      else if (snapshot.value !== "completed") assert.isNull(reason)
      if (snapshot.value !== "completed") assert.isNull(exitCode)
    }
  })

  it("reports its processes as gone only when an event confirmed it", () => {
    for (const { snapshot, steps } of reached) {
      for (const { event, to } of steps) {
        const isGone = JSON.parse(to).context.processTree === "gone"
        if (!isGone || (snapshot.context as OperationContext).processTree === "gone") continue
        assert.isTrue(event["processTree"] === "gone" || event.type === "REFUSED", `${snapshot.value} ${event.type}`)
      }
    }
  })

  it("has its time-out as a deadline while it runs, if it has one", () => {
    for (const { key, snapshot } of reached) {
      const { timeoutMs, startedAt } = snapshot.context as OperationContext
      const isTimed = snapshot.value === "running" && timeoutMs !== null
      assert.deepStrictEqual(
        JSON.parse(key).deadlines,
        isTimed ? { timeout: { at: Math.ceil(startedAt! + timeoutMs), event: { type: "TIME_OUT" } } } : {}
      )
    }
  })
})
