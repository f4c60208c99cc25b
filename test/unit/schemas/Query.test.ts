/** contract.md: calendar-valid date, a time, and a mandatory zone; seconds and fractions optional. */
import { assert, describe, it } from "@effect/vitest"
import { parseInstant } from "../../../schemas/Query.ts"

describe("an instant in a query", () => {
  it("has a date, a time and a zone; seconds and fractions may be absent", () => {
    const good: Record<string, string> = {
      "2026-01-31T12:00:00Z": "2026-01-31T12:00:00.000Z",
      "2026-01-31T12:00Z": "2026-01-31T12:00:00.000Z",
      "2026-01-31t12:00:00.5z": "2026-01-31T12:00:00.500Z",
      "2026-01-31T12:00:00.123456789Z": "2026-01-31T12:00:00.123Z",
      "2026-01-31T12:00:00.999999999999999999Z": "2026-01-31T12:00:00.999Z",
      "2026-01-31T12:00:00+02:30": "2026-01-31T09:30:00.000Z",
      "2026-01-31T23:59-00:01": "2026-02-01T00:00:00.000Z",
      "2024-02-29T00:00Z": "2024-02-29T00:00:00.000Z",
      "2016-12-31T23:59:60Z": "2017-01-01T00:00:00.000Z",
      "0001-01-01T00:00Z": "0001-01-01T00:00:00.000Z"
    }
    for (const [text, meant] of Object.entries(good)) {
      assert.strictEqual(parseInstant(text), Date.parse(meant), text)
    }
  })

  it("is refused when the calendar, the clock or the zone does not have it", () => {
    for (const text of [
      "",
      "2026-01-31",
      "2026-01-31T12:00",
      "2026-01-31 12:00Z",
      "2026-02-29T00:00Z",
      "2026-02-30T00:00Z",
      "2026-13-01T00:00Z",
      "2026-00-01T00:00Z",
      "2026-01-00T00:00Z",
      "2026-04-31T00:00Z",
      "2026-01-31T24:00Z",
      "2026-01-31T12:60Z",
      "2026-01-31T12:00:61Z",
      "2026-01-31T12Z",
      "2026-01-31T12:00:00+24:00",
      "2026-01-31T12:00:00+0100",
      "2026-01-31T12:00:00+01",
      "2026-01-31T12:00:00.Z",
      "+002026-01-31T12:00Z",
      "1767225600000",
      "2026-01-31T12:00:00Z\n"
    ]) {
      assert.isNull(parseInstant(text), text)
    }
  })
})
