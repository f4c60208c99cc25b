import { assert, it } from "vitest"
import { jsonTextAnswer } from "../../../../src/api/http/JsonAnswer.ts"

it("a large answer is kept as its bytes alone, a small one as its text, which goes out with the head", () => {
  for (const [length, isLarge] of [
    [100, false],
    [2 * 1024 ** 2, true]
  ] as const) {
    const text = JSON.stringify("ü\u0001".repeat(length))
    const { body } = jsonTextAnswer(text, 408, { "retry-after": "1" })
    assert(body._tag === "Uint8Array")
    assert.strictEqual(body.text !== undefined, !isLarge)
    assert.strictEqual(Buffer.from(body.body).toString(), `${text}\n`)
    assert.strictEqual(body.contentLength, Buffer.byteLength(text) + 1)
  }
})
