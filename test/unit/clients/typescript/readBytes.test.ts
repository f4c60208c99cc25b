/** Own process: it measures the memory of the process. */
import { assert, describe, it } from "vitest"
import { Atoll, UnreadableAnswer } from "../../../../clients/typescript/src/index.ts"

const mebibyte = 1024 ** 2
const pieceBytes = 8 * mebibyte

/** A service of which every file says `sizeBytes` and has `bytes`. */
const sandboxWith = async ({ sizeBytes, bytes = sizeBytes }: { sizeBytes: number; bytes?: number }) => {
  const atoll = new Atoll({
    apiKey: "key",
    url: "http://127.0.0.1:9",
    fetch: async (input) => {
      const { pathname, searchParams } = new URL(String(input))
      if (!pathname.endsWith("/content")) {
        return new Response(JSON.stringify({ sandbox: { id: "sbx_1" } }), {
          headers: { "content-type": "application/json" }
        })
      }
      const offset = Number(searchParams.get("cursor") ?? 0)
      const next = Math.min(bytes, offset + pieceBytes)
      return new Response(new Uint8Array(next - offset).fill(offset / pieceBytes), {
        headers: {
          "x-service-file-size": String(sizeBytes),
          "x-service-eof": String(next === bytes),
          "x-service-next-cursor": String(next)
        }
      })
    }
  })
  return atoll.sandboxes.get("sbx_1")
}

const failed = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => assert.fail("It did not fail."),
    (thrown: unknown) => thrown
  )

describe("readBytes", () => {
  it("holds a file once: what was read before its last piece is not copied", async () => {
    const sizeBytes = 384 * mebibyte + 5
    const { files } = await sandboxWith({ sizeBytes })
    const before = process.memoryUsage().arrayBuffers
    const bytes = await files.readBytes("large")
    const taken = process.memoryUsage().arrayBuffers - before
    assert.strictEqual(bytes.length, sizeBytes)
    for (let piece = 0; piece * pieceBytes < sizeBytes; piece++) assert.strictEqual(bytes[piece * pieceBytes], piece)
    // Beside the file, pieces that are not collected yet.
    assert.isBelow(taken, 1.6 * sizeBytes)
  })

  it("refuses a file of more than 4 GiB before it reads on, and names what has no limit", async () => {
    const { files } = await sandboxWith({ sizeBytes: 4 * 1024 ** 3 + 1, bytes: pieceBytes * 2 })
    const fault = await failed(files.readBytes("huge"))
    assert.instanceOf(fault, RangeError)
    assert.include((fault as Error).message, "huge has 4294967297 bytes")
    assert.include((fault as Error).message, "readStream")
  })

  it("believes no size that is not the content's", async () => {
    for (const bytes of [pieceBytes * 3, pieceBytes]) {
      const { files } = await sandboxWith({ sizeBytes: pieceBytes * 2, bytes })
      assert.instanceOf(await failed(files.readBytes("lie")), UnreadableAnswer)
    }
  })

  it("of an empty file is empty", async () => {
    const { files } = await sandboxWith({ sizeBytes: 0 })
    assert.strictEqual((await files.readBytes("empty")).length, 0)
  })
})
