/** The directories of commands, in a plain folder in place of a cgroup: the kernel's files are files that are written. */
import { readdirSync } from "node:fs"
import { describe, expect, it, vi } from "vitest"
import { makeCgroupTrees } from "../../../src/agent/processes/CgroupTrees.ts"
import { inFolder } from "../../support/host/linux/inFolder.ts"

const commandsIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("command-"))

describe("a command's directory", () => {
  it("is there before the command, also where the one before it goes on", () =>
    inFolder(async (folder) => {
      const trees = makeCgroupTrees(folder)!
      await vi.waitUntil(() => commandsIn(folder).length === 1)
      const first = trees.create()
      expect(commandsIn(folder)).toEqual([first.name])
      await vi.waitUntil(() => commandsIn(folder).length === 2, { timeout: 5_000 })
      const made = commandsIn(folder)
      const second = trees.create()
      expect(made).toContain(second.name)
      expect(second.name).not.toBe(first.name)
      expect(commandsIn(folder)).toEqual(made)
    }))

  it("is used again when the command has ended", () =>
    inFolder(async (folder) => {
      const trees = makeCgroupTrees(folder)!
      await vi.waitUntil(() => commandsIn(folder).length === 1)
      for (let run = 0; run < 3; run++) trees.create().dispose()
      expect(commandsIn(folder)).toHaveLength(1)
    }))
})
