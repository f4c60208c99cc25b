/** V8 does not look at the heap of an idle agent: a thousand agents that wake every 8 s would cost 1.5 % of a core. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, describe, it } from "vitest"
import { AGENT_NODE_ARGUMENTS } from "../../../src/runtime/agentClient/agentBundle.ts"

/** Whether V8 looks at the heap of a Node that was busy and is idle now. It first looks after 50 ms instead of 8 s. */
const isLookedAt = async (nodeArguments: ReadonlyArray<string>, then = ""): Promise<boolean> => {
  const idle = `
    setTimeout(() => { let all = Array.from({ length: 300_000 }, (_, at) => ({ at })); all = null; ${then} }, 1)
    setTimeout(() => process.exit(0), 1_000)`
  const tracing = ["--trace-memory-reducer", "--gc-memory-reducer-start-delay-ms=50"]
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeArguments, ...tracing, "-e", idle], {
    env: {}
  })
  return stdout.includes("Memory reducer")
}

describe("the heap of an idle agent", () => {
  it("is not looked at", async () => {
    assert.isFalse(await isLookedAt(AGENT_NODE_ARGUMENTS))
  })

  it("is not looked at after the agent has collected it", async () => {
    assert.isFalse(await isLookedAt(AGENT_NODE_ARGUMENTS, `gc({ type: "major", flavor: "last-resort" })`))
  })

  it("would be without the argument for small heaps", async () => {
    assert.isTrue(await isLookedAt(AGENT_NODE_ARGUMENTS.filter((it) => !it.includes("memory-reducer"))))
  })
})
