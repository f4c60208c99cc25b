/** How the agent ends a command's tree, for every behaviour of the tree. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { CommandHost } from "../../../src/agent/processes/CommandHost.ts"
import { CommandProcess } from "../../../src/agent/processes/CommandProcess.ts"
import type { ProcessTree } from "../../../src/agent/processes/ProcessTree.ts"

/** A tree of so many processes, of which each kill ends some. */
class SlowTree implements ProcessTree {
  readonly threadsFile = null
  readonly name = "slow"
  left: number
  readonly perKill: number
  kills = 0
  isDisposed = false

  constructor(left: number, perKill: number) {
    this.left = left
    this.perKill = perKill
  }

  wrap = (argv: ReadonlyArray<string>) => argv
  enter = <A>(spawn: () => A) => spawn()
  began = () => {}
  members = () => []
  isEmpty = () => this.left === 0
  terminate = () => {}
  kill = () => {
    this.kills++
    this.left = Math.max(0, this.left - this.perKill)
    return this.left === 0
  }
  dispose = () => {
    this.isDisposed = true
  }
}

const started = async (tree: SlowTree) => {
  let end = (_code: number | null, _signal: string | null) => {}
  const launch: CommandHost["launch"] = async () => ({
    pid: 1,
    input: null,
    signal: () => {},
    onEnd: (listener) => {
      end = listener
    },
    isDrained: () => true,
    isAlone: () => false,
    wake: () => {},
    dispose: () => {}
  })
  const command = await CommandProcess.start(
    "key",
    { argv: ["x"], cwd: "/", env: {}, stdin: null, timeoutMs: null, output: { mode: "head", bytes: 1 } },
    {
      trees: { mechanism: "cgroup", threadsFile: null, create: () => tree, nameOf: () => null, own: new Set() },
      launch,
      launchInteractive: launch,
      retained: { total: 0, max: 1 },
      runAs: null,
      defaultEnv: {},
      scratchDir: "/nowhere",
      watchMemoryKills: () => () => false,
      runOwn: async () => {}
    }
  )
  return { command, end: () => end(null, "SIGKILL") }
}

describe("the end of a command's tree", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("is pursued until no process lives, long after it was reported as unconfirmed", async () => {
    const tree = new SlowTree(600, 1)
    const { command, end } = await started(tree)
    command.kill(0)
    end()
    await vi.advanceTimersByTimeAsync(6_000)
    expect(command.settled).toBe("unconfirmed")
    await vi.advanceTimersByTimeAsync(600_000)
    expect(tree.left).toBe(0)
    expect(tree.isDisposed).toBe(true)
    expect(command.settled).toBe("gone")
    const { kills } = tree
    await vi.advanceTimersByTimeAsync(10_000)
    expect(tree.kills).toBe(kills)
  })

  it("is hastened by a later kill", async () => {
    const tree = new SlowTree(1_000, 1)
    const { command, end } = await started(tree)
    command.kill(0)
    end()
    await vi.advanceTimersByTimeAsync(60_000)
    const before = tree.kills
    tree.left = 1
    command.kill(0)
    expect(tree.kills).toBe(before + 1)
    expect(tree.isDisposed).toBe(true)
  })
})
