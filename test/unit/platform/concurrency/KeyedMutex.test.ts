import { describe, expect, it } from "@effect/vitest"
import { KeyedMutex } from "../../../../src/platform/concurrency/KeyedMutex.ts"

describe("a keyed mutex", () => {
  it("runs one key's calls in order and another's without a wait, and forgets a key that is not locked", async () => {
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
