/** An outage of the database is two lines of a process. */
import { assert } from "@effect/vitest"

export const assertOutageLines = (lines: ReadonlyArray<string>): void => {
  const text = lines.join("\n")
  assert.strictEqual(lines.length, 2, text)
  assert.match(lines[0]!, /^WARN The database does not serve: .+\. Writes wait until it is back\.$/, text)
  assert.match(lines[1]!, /^INFO The database serves again, \d+ s after the first of \d+ statements/, text)
}
