import { randomBytes } from "node:crypto"
import { assert, it } from "vitest"
import { aroundBase64 } from "../../../../src/api/http/aroundBase64.ts"

it("bytes of any length stand in their text as base64, also those that are a part of a larger piece of memory", () => {
  const memory = randomBytes(300_000)
  for (const length of [0, 1, 2, 3, 6143, 6144, 6145, 12_288, 262_144]) {
    const bytes = new Uint8Array(memory.buffer, memory.byteOffset + 5, length)
    const whole = `{"data":"${Buffer.from(bytes).toString("base64")}"}\n`
    assert.strictEqual(aroundBase64('{"data":"', bytes, '"}\n').toString(), whole)
  }
})
