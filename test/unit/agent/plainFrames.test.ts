import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { END_FRAME, FrameCutter, NO_FRAME, portIn, requestLine } from "../../../src/agent/plainFrames.ts"

const frameOf = (content: Buffer): Buffer => {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(content.length)
  return Buffer.concat([head, content])
}

/** Cuts `stream` into reads of these lengths. */
const cutAll = (stream: Buffer, lengths: ReadonlyArray<number>) => {
  const cutter = new FrameCutter()
  const found: Array<Buffer> = []
  let slices = 0
  let isWhole = true
  for (let at = 0, turn = 0; at < stream.length; turn++) {
    const length = lengths[turn % lengths.length]!
    // A copy: slices are moved within a read.
    const read = Buffer.from(stream.subarray(at, at + length))
    isWhole &&= cutter.cut(read, (slice) => {
      slices++
      found.push(Buffer.from(slice))
    })
    at += length
  }
  return { content: Buffer.concat(found), slices, hasEnded: cutter.hasEnded, isWhole }
}

describe("frames of a plain tunnel", () => {
  it("give their content, however they are read", () => {
    const frames = fc.array(fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 3000 }), fc.constant(null)), {
      maxLength: 20
    })
    fc.assert(
      fc.property(
        frames,
        fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 5 }),
        (parts, lengths) => {
          const contents = parts.map((part) => (part === null ? null : Buffer.from(part)))
          const stream = Buffer.concat([...contents.map((one) => (one === null ? NO_FRAME : frameOf(one))), END_FRAME])
          const { content, hasEnded, isWhole } = cutAll(stream, lengths)
          assert.isTrue(content.equals(Buffer.concat(contents.filter((one) => one !== null))))
          assert.isTrue(hasEnded && isWhole)
        }
      )
    )
  })

  it("of one byte each become few slices", () => {
    const { slices, content } = cutAll(Buffer.concat(Array(20_000).fill(frameOf(Buffer.of(7)))), [100_000])
    assert.strictEqual(content.length, 20_000)
    assert.isAtMost(slices, 2)
  })

  it("end once: content or a second end after it is a breach, and no frame is none", () => {
    assert.isTrue(cutAll(Buffer.concat([END_FRAME, NO_FRAME]), [3]).isWhole)
    assert.isFalse(cutAll(Buffer.concat([END_FRAME, frameOf(Buffer.of(1))]), [3]).isWhole)
    assert.isFalse(cutAll(Buffer.concat([END_FRAME, END_FRAME]), [100]).isWhole)
  })
})

it("a request names a TCP port", () => {
  assert.strictEqual(portIn(requestLine(65_535).trimEnd()), 65_535)
  for (const line of ["TUNNEL 0", "TUNNEL 65536", "TUNNEL -1", "TUNNEL 1.5", "TUNNEL ", "TUNNEL 80 ", "PRI * HTTP/2.0"])
    assert.isNull(portIn(line), line)
})
