import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { watchMemoryKills } from "../../../src/agent/processes/memoryKills.ts"
import { inFolder } from "../../support/host/linux/inFolder.ts"

describe("processes that the kernel killed for want of memory", () => {
  it("are known to who watched before, by the first file that counts them", () =>
    inFolder(async (folder) => {
      const [without, counting] = [join(folder, "without"), join(folder, "counting")]
      writeFileSync(without, "low 0\nhigh 0\n")
      writeFileSync(counting, "oom 3\noom_kill 2\noom_group_kill 0\n")
      const watch = watchMemoryKills([join(folder, "none"), without, counting])
      const first = watch()
      expect(first()).toBe(false)
      writeFileSync(counting, "oom 3\noom_kill 10\noom_group_kill 0\n")
      const second = watch()
      expect([first(), second()]).toEqual([true, false])
    }))

  it("are unknown where nothing counts them", () => expect(watchMemoryKills(["/none"])()()).toBe(false))
})
