import { describe, expect, it } from "@effect/vitest"
import { KeyedMutex } from "../../../../src/platform/concurrency/KeyedMutex.ts"

describe("a keyed mutex", () => {
  it("one key's calls go in their order, another's do not wait, and a key that nobody holds is forgotten", async () => {
    const mutex = new KeyedMutex()
    const seen: Array<string> = []
    const end = await mutex.lock("a")
    const second = mutex.run("a", async () => void seen.push("second"))
    const failed = mutex.run("a", () => Promise.reject(new Error("no")))
    const third = mutex.run("a", async () => void seen.push("third"))
    await mutex.run("b", async () => void seen.push("other"))
    expect(seen).toEqual(["other"])
    expect(mutex.isLocked("a")).toBe(true)
    expect(mutex.isLocked("b")).toBe(false)
    end()
    await expect(failed).rejects.toThrow("no")
    await Promise.all([second, third])
    expect(seen).toEqual(["other", "second", "third"])
    expect(mutex.isLocked("a")).toBe(false)
  })
})
