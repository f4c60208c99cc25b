import { describe, expect, it } from "@effect/vitest"
import { Turns } from "../../../../src/host/linux/Turns.ts"

describe("turns", () => {
  it("one key's calls go in their order, another's do not wait, and a key that nobody holds is forgotten", async () => {
    const turns = new Turns()
    const seen: Array<string> = []
    const end = await turns.hold("a")
    const second = turns.pass("a", async () => void seen.push("second"))
    const failed = turns.pass("a", () => Promise.reject(new Error("no")))
    const third = turns.pass("a", async () => void seen.push("third"))
    await turns.pass("b", async () => void seen.push("other"))
    expect(seen).toEqual(["other"])
    expect(turns.isHeld("a")).toBe(true)
    expect(turns.isHeld("b")).toBe(false)
    end()
    await expect(failed).rejects.toThrow("no")
    await Promise.all([second, third])
    expect(seen).toEqual(["other", "second", "third"])
    expect(turns.isHeld("a")).toBe(false)
  })
})
