/** Invariants of every state that a machine can reach, by every path. */
import { assert, describe, it } from "vitest"
import type { HostContext } from "../../../schemas/contexts/Host.ts"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"
import { type Reached, walk } from "../../support/machines/walk.ts"

const reachedOf = (machine: string): ReadonlyArray<Reached> => {
  const source = machineSources.find(({ name }) => name === machine)!
  return [...walk(source).values()]
}

/** The keys of states that break a rule: the first few are enough. */
const breaking = (reached: ReadonlyArray<Reached>, holds: (state: string, context: unknown) => boolean) =>
  reached
    .filter(({ snapshot }) => !holds(String(snapshot.value), snapshot.context))
    .map(({ key }) => key)
    .slice(0, 3)

describe("a Sandbox", () => {
  const reached = reachedOf("sandbox")

  it("has a waiting start only while it stops: a later stop is not taken for a restart", () => {
    const startable = ["pending", "running", "sleeping", "stopped"]
    const holds = (state: string, context: unknown) =>
      !startable.includes(state) || !(context as SandboxContext).startRequested
    assert.deepStrictEqual(breaking(reached, holds), [])
  })

  it("has a planned end of its run only while it has a runtime", () => {
    const hasRuntime = ["pending", "running", "sleeping"]
    const holds = (state: string, context: unknown) =>
      hasRuntime.includes(state) ||
      ((context as SandboxContext).upAt === null && (context as SandboxContext).idleStopAt === null)
    assert.deepStrictEqual(breaking(reached, holds), [])
  })
})

describe("a host", () => {
  const reached = reachedOf("host")

  it("carries Sandboxes, or is drained, only once it was compared with them", () => {
    const compared = ["ready", "cordoned", "draining"]
    const holds = (state: string, context: unknown) =>
      !compared.includes(state) || (context as HostContext).isReconciled
    assert.deepStrictEqual(breaking(reached, holds), [])
  })

  it("gets Sandboxes only once its canary has booted there", () => {
    const used = ["ready", "cordoned"]
    const holds = (state: string, context: unknown) => !used.includes(state) || (context as HostContext).isProven
    assert.deepStrictEqual(breaking(reached, holds), [])
  })
})
