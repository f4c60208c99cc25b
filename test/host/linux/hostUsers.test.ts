import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { HostUsers } from "../../../src/host/linux/HostUsers.ts"
import { inFolder } from "./inFolder.ts"

const range = { first: 300_000, count: 4 }

describe("host users", () => {
  it("two Sandboxes never share a user, one keeps its own, and a released one is used again", () =>
    inFolder(async (folder) => {
      const users = new HostUsers(join(folder, "users"), folder, range)
      const taken = await Promise.all(["a", "b", "c"].map((id) => users.take(id)))
      expect(taken.toSorted()).toEqual([300_000, 300_001, 300_002])
      const [first] = taken
      expect(await users.take("a")).toBe(first)
      await users.release(first!, "b")
      expect(await users.take("d")).toBe(300_003)
      await expect(users.take("e")).rejects.toThrow("taken")
      await users.release(first!, "a")
      expect(await users.take("e")).toBe(first)
      await users.pass(first!, "g")
      await users.release(first!, "e")
      await expect(users.take("h")).rejects.toThrow("taken")
      expect(await users.take("g")).toBe(first)
      expect(await new HostUsers(folder, folder, null).take("f")).toBeNull()
    }))

  it("what was taken for a Sandbox that is gone is free at the next start, and what a Sandbox has stays its own", () =>
    inFolder(async (folder) => {
      const users = new HostUsers(join(folder, "users"), folder, range)
      const gone = await users.take("gone")
      const kept = await users.take("kept")
      mkdirSync(join(folder, "kept"))
      await users.settle([{ sandboxId: "earlier", uid: 300_003 }])
      expect(await users.take("kept")).toBe(kept)
      expect(await users.take("new")).toBe(gone)
      expect(await users.take("other")).toBe(300_002)
      await expect(users.take("last")).rejects.toThrow("taken")
    }))
})
