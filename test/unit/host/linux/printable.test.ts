import { describe, expect, it } from "@effect/vitest"
import { printable } from "../../../../src/host/linux/printable.ts"

describe("text of a program", () => {
  it("becomes one line without control characters, and keeps its end", () => {
    expect(printable("one\n\u001b[2Jtwo\r\u0000\u202ethree\u2028", 100)).toBe("one [2Jtwo three")
    expect(printable("a long story with its end", 7)).toBe("its end")
    expect(printable("Zürich, 東京", 100)).toBe("Zürich, 東京")
  })
})
