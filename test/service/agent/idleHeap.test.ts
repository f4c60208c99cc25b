/** V8 does not look again and again at the heap of an idle agent, nor collect it: for a thousand agents that took up to 12 % of a core. What a boot left in it is given back. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, describe, it } from "vitest"
import { collect, UNREDUCED } from "../../../src/agent/idleHeap.ts"
import { AGENT_NODE_ARGUMENTS } from "../../../src/runtime/agentClient/agentBundle.ts"

const unreduced = `require("node:v8").setFlagsFromString("${UNREDUCED}")`

/** Whether V8, once it has looked at the heap of a Node that has loaded modules and is idle now, will look again. It first looks after 50 ms instead of 8 s. */
const isLookedAtAgain = async (afterLoading: string, then = ""): Promise<boolean> => {
  const idle = `
    require("node:http2")
    globalThis.kept = Array.from({ length: 100_000 }, (_, at) => ({ at }))
    ${afterLoading}
    setTimeout(() => { let all = Array.from({ length: 300_000 }, (_, at) => ({ at })); all = null; ${then} }, 1)
    setTimeout(() => process.exit(0), 1_000)`
  const tracing = ["--trace-memory-reducer", "--gc-memory-reducer-start-delay-ms=50"]
  const argv = [...AGENT_NODE_ARGUMENTS, ...tracing, "-e", idle]
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env: {} })
  assert.include(stdout, "Memory reducer: ")
  return stdout.includes("Memory reducer: waiting")
}

/** How many of Node's own modules were compiled because V8 rejected their cached code. */
const compiledModules = async (nodeArguments: ReadonlyArray<string>): Promise<number> => {
  const count = `
    require("node:http2")
    const { internalBinding } = require("internal/test/binding")
    console.log(internalBinding("builtins").getCacheUsage().compiledWithoutCache.size)`
  const argv = [...nodeArguments, "--expose-internals", "-e", count]
  return Number((await promisify(execFile)(process.execPath, argv, { env: {} })).stdout)
}

describe("the heap of an idle agent", () => {
  it("is looked at one time, after it was loaded", async () => {
    assert.isFalse(await isLookedAtAgain(unreduced))
  })

  it("is not looked at again after the agent has collected it", async () => {
    assert.isFalse(await isLookedAtAgain(unreduced, `(${collect})()`))
  })

  it("would be looked at again without the flag", async () => {
    assert.isTrue(await isLookedAtAgain(""))
  })
})

describe("the collection of an idle agent's heap", () => {
  it("gives back pages", async () => {
    const busy = `
      let all = Array.from({ length: 100_000 }, (_, at) => ({ at }))
      all = null
      const before = process.memoryUsage().heapTotal
      ;(${collect})()
      console.log(before - process.memoryUsage().heapTotal)`
    const { stdout } = await promisify(execFile)(process.execPath, [...AGENT_NODE_ARGUMENTS, "-e", busy], { env: {} })
    assert.isAbove(Number(stdout), 1_000_000)
  })
})

describe("the arguments of an agent", () => {
  it("let Node use the cached code of its modules", async () => {
    assert.strictEqual(await compiledModules(AGENT_NODE_ARGUMENTS), 0)
    assert.isAbove(await compiledModules([...AGENT_NODE_ARGUMENTS, UNREDUCED]), 0)
  })
})
