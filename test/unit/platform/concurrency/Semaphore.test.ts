import { describe, expect, it } from "@effect/vitest"
import { Semaphore } from "../../../../src/platform/concurrency/Semaphore.ts"

describe("a semaphore", () => {
  const never = () => Promise.reject(new Error("It was given up."))

  it("runs so many calls concurrently, and the others in their order", async () => {
    const starts = new Semaphore(2)
    const seen: Array<string> = []
    const ends: Array<() => void> = []
    const hold = (name: string) => () => {
      seen.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
    const all = ["a", "b", "c", "d"].map((name) => starts.run(hold(name)))
    expect(seen).toEqual(["a", "b"])
    ends[1]!()
    await all[1]
    expect(seen).toEqual(["a", "b", "c"])
    ends[0]!()
    await all[0]
    expect(seen).toEqual(["a", "b", "c", "d"])
    for (const end of ends) end()
    await Promise.all(all)
  })

  it("drops a waiting call that is aborted, without using the slot of those behind it", async () => {
    const starts = new Semaphore(1)
    const [second, ahead] = [new AbortController(), new AbortController()]
    let end = () => {}
    const first = starts.run(() => new Promise<string>((resolve) => (end = () => resolve("first"))), ahead.signal)
    const leaving = starts.run(never, second.signal)
    const third = starts.run(async () => "third")
    second.abort(new Error("deleted"))
    await expect(leaving).rejects.toThrow("deleted")
    await expect(starts.run(never, second.signal)).rejects.toThrow("deleted")
    // A call that holds its slot is not dropped.
    ahead.abort()
    end()
    expect(await Promise.all([first, third])).toEqual(["first", "third"])
    expect(await starts.run(async () => "free")).toBe("free")
  })

  it("passes its permits on in order, one for each that is disposed of", async () => {
    const semaphore = new Semaphore(2)
    const order: Array<string> = []
    const one = await semaphore.acquire()
    const two = await semaphore.acquire()
    const later = ["three", "four"].map(async (name) => {
      using _ = await semaphore.acquire()
      order.push(name)
      await Promise.resolve()
    })
    await Promise.resolve()
    expect(order).toEqual([])
    two[Symbol.dispose]()
    await Promise.all(later)
    expect(order).toEqual(["three", "four"])
    one[Symbol.dispose]()
    using _ = await semaphore.acquire()
  })
})
