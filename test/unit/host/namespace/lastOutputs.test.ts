import { describe, expect, it } from "vitest"
import { LastOutputs } from "../../../../src/host/namespace/LastOutputs.ts"

describe("the last output of ended Sandboxes", () => {
  const outputs = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ sandboxId: `s${index}`, generation: 1, offset: 0 },
      bytes: new Uint8Array(64 * 1024)
    }))

  it("is returned once, the oldest first", () => {
    const last = new LastOutputs()
    for (const it of outputs(2)) last.keep(it)
    expect(last.take().map(({ sandboxId }) => sandboxId)).toEqual(["s0", "s1"])
    expect(last.take()).toEqual([])
  })

  it("is bounded: the newest stay", () => {
    const last = new LastOutputs()
    for (const it of outputs(100)) last.keep(it)
    const kept = last.take()
    expect([kept.length, kept.at(-1)?.sandboxId]).toEqual([64, "s99"])
    for (const it of outputs(1)) last.keep(it)
    expect(last.take().length).toBe(1)
  })
})
