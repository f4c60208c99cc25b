import { assert, it } from "vitest"
import { duration } from "../../../../src/console/pages/format.ts"

it("a duration is in milliseconds where it is short, and has two units where it is long", () => {
  assert.deepStrictEqual([0, 0.0002, 0.263, 0.9996, 1, 1.24, 9.94, 10.7, 59, 5400, 90_061].map(duration), [
    "0 s",
    "under 1 ms",
    "263 ms",
    "1 s",
    "1 s",
    "1.2 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1 h 30 min",
    "1 d 1 h"
  ])
})
