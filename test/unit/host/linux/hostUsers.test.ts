import { mkdirSync, readdirSync, symlinkSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { HostUsers } from "../../../../src/host/linux/HostUsers.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"

const register = (folder: string) => {
  mkdirSync(join(folder, "users"))
  return join(folder, "users")
}

const range = { first: 300_000, count: 4 }

describe("host users", () => {
  it("two Sandboxes never share a user, each keeps its own, and a released one is used again", () =>
    inFolder(async (folder) => {
      const users = new HostUsers(folder, range, register(folder))
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
      expect(await new HostUsers(folder, null).take("f")).toBeNull()
    }))

  it("the user of a deleted Sandbox is free at the next start, and an existing Sandbox keeps its own", () =>
    inFolder(async (folder) => {
      const place = register(folder)
      const users = new HostUsers(folder, range, place)
      const gone = await users.take("gone")
      const kept = await users.take("kept")
      mkdirSync(join(folder, "kept"))
      const next = new HostUsers(folder, range, place)
      // A Sandbox whose user another process is just taking has no folder yet.
      await next.settle([])
      expect(await next.take("third")).toBe(300_002)
      expect(await next.settle([{ sandboxId: "earlier", uid: 300_003 }], Date.now() + 120_000)).toEqual([])
      expect(await next.take("kept")).toBe(kept)
      expect(await next.take("new")).toBe(gone)
      expect(await next.take("other")).toBe(300_002)
      await expect(next.take("last")).rejects.toThrow("taken")
      await next.release(null, "kept")
      expect(await next.take("last")).toBe(kept)
    }))

  it("a user that a killed start had taken before its folder existed is its Sandbox's at the next start, and goes with it", () =>
    inFolder(async (folder) => {
      const place = register(folder)
      const cut = await new HostUsers(folder, range, place).take("cut")
      const next = new HostUsers(folder, range, place)
      await next.settle([])
      expect(await next.take("cut")).toBe(cut)
      const another = new HostUsers(folder, range, place)
      await another.settle([])
      await another.release(null, "cut")
      expect(readdirSync(place)).toEqual([])
    }))

  it("a Sandbox that gets another user keeps none that a killed start had claimed for it", () =>
    inFolder(async (folder) => {
      const place = register(folder)
      const users = new HostUsers(folder, range, place)
      await users.take("cut")
      const other = await users.take("spare.0123456789abcdef")
      const next = new HostUsers(folder, range, place)
      await next.settle([])
      expect([...next.registered()]).toEqual([
        ["cut", 300_000],
        ["spare.0123456789abcdef", 300_001]
      ])
      await next.pass(other, "cut")
      expect([...next.registered()]).toEqual([["cut", 300_001]])
      expect(readdirSync(place)).toEqual(["300001"])

      // Killed between the two: both are the Sandbox's, and its record tells which one it has.
      mkdirSync(join(folder, "cut"))
      for (const name of ["300000", "300002.partial"]) symlinkSync(join(folder, "cut"), join(place, name))
      const last = new HostUsers(folder, range, place)
      await last.settle([{ sandboxId: "cut", uid: other }])
      expect(readdirSync(place).toSorted()).toEqual(["300000", "300001", "300002.partial"])
      expect(await last.settle([{ sandboxId: "cut", uid: other }], Date.now() + 120_000)).toEqual([])
      expect(readdirSync(place)).toEqual(["300001"])
      expect(await last.take("cut")).toBe(other)
    }))

  it("two Atolls of one host never give out the same user, and one that a removed Atoll left is used last", () =>
    inFolder(async (folder) => {
      const place = register(folder)
      const [one, two] = ["one", "two"].map((name) => {
        mkdirSync(join(folder, name))
        return new HostUsers(join(folder, name), range, place)
      }) as [HostUsers, HostUsers]
      expect(await Promise.all([one.take("a"), two.take("a"), one.take("b")])).toHaveLength(3)
      expect(await two.settle([{ sandboxId: "old", uid: (await one.take("a"))! }])).toEqual(["old"])
      await two.take("b")
      expect(readdirSync(place).toSorted()).toEqual(["300000", "300001", "300002", "300003"])
      await expect(two.take("c")).rejects.toThrow("taken")
      await rm(join(folder, "one"), { recursive: true })
      await two.take("c")
      await two.take("d")
      await expect(two.take("e")).rejects.toThrow("taken")
    }))
})
