/** The file format of snapshots: what is written is read again, and no bytes of a stranger get further than they may. */
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { zstdCompressSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { ImagePiece } from "../../../../src/runtime/Runtime.ts"
import { openSnapshot, SnapshotFileFault, SnapshotTooLarge } from "../../../../src/snapshot/file/decodeSnapshot.ts"
import { headOf } from "../../../../src/snapshot/file/SnapshotHeader.ts"
import { snapshotFile, snapshotHeader } from "../../../support/snapshot/snapshotFile.ts"

const KiB4 = 4096
const sizeBytes = 64 * KiB4

/** In chunks of any length. */
const streamOf = (bytes: Buffer, chunkBytes: number): Readable =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
    })()
  )

const read = async (bytes: Buffer, { chunkBytes = 1000, most = sizeBytes } = {}) => {
  const { header, pieces } = await openSnapshot(streamOf(bytes, chunkBytes))
  const found: Array<ImagePiece> = []
  for await (const piece of pieces(most)) found.push(piece)
  return { header, found }
}

const faultOf = (bytes: Buffer, options = {}) =>
  read(bytes, options).then(
    () => null,
    (cause: unknown) => {
      if (cause instanceof SnapshotFileFault) return cause.message
      if (cause instanceof SnapshotTooLarge) return "too large"
      throw cause
    }
  )

const imageOf = (pieces: ReadonlyArray<ImagePiece>): Buffer => {
  const image = Buffer.alloc(sizeBytes)
  for (const { offset, bytes } of pieces) image.set(bytes, offset)
  return image
}

/** A file with these frames, and the digest that it should have. */
const forged = (
  frames: ReadonlyArray<readonly [offset: number, length: number, bytes: Buffer]>,
  after = ""
): Buffer => {
  const head = headOf({ ...snapshotHeader, sizeBytes })
  const written = [...frames, [sizeBytes, 0, Buffer.alloc(0)] as const].map(([offset, length, bytes]) => {
    const start = Buffer.alloc(12)
    start.writeBigUInt64LE(BigInt(offset))
    start.writeUInt32LE(length, 8)
    return Buffer.concat([start, bytes])
  })
  const all = Buffer.concat(written)
  const digest = createHash("sha256").update(head).update(all).digest()
  return Buffer.concat([head, zstdCompressSync(Buffer.concat([all, digest, Buffer.from(after)]))])
}

const block = Buffer.alloc(KiB4, "x")

/** Blocks of the image that are written, each with its content. */
const arbitraryPieces = fc
  .uniqueArray(fc.integer({ min: 0, max: 63 }), { maxLength: 20 })
  .chain((at) => fc.tuple(...at.toSorted((a, b) => a - b).map((n) => fc.nat(255).map((fill) => [n, fill] as const))))
  .map((blocks) => blocks.map(([n, fill]) => ({ offset: n * KiB4, bytes: Buffer.alloc(KiB4, fill) })))

describe("the file of a snapshot", () => {
  it("gives the content and the header that were written, in chunks of any length", () =>
    fc.assert(
      fc.asyncProperty(arbitraryPieces, fc.integer({ min: 1, max: 5000 }), async (pieces, chunkBytes) => {
        const file = await snapshotFile({ sizeBytes, name: "a name" }, pieces)
        const { header, found } = await read(file, { chunkBytes })
        assert.deepStrictEqual(header, { ...snapshotHeader, sizeBytes, name: "a name" })
        assert.isTrue(imageOf(found).equals(imageOf(pieces)))
      }),
      { numRuns: 30 }
    ))

  it("never gives other content as whole, wherever it is cut and whichever byte is another one", () =>
    fc.assert(
      fc.asyncProperty(arbitraryPieces, fc.nat(), fc.integer({ min: 1, max: 255 }), async (pieces, place, change) => {
        const file = await snapshotFile({ sizeBytes }, pieces)
        const at = place % file.length
        const other = Buffer.from(file)
        other[at]! ^= change
        // The digest is not the last of it: some bytes of the compression's own say nothing of the content.
        for (const bytes of [file.subarray(0, at), other]) {
          if ((await faultOf(bytes)) !== null) continue
          const { header, found } = await read(bytes)
          assert.deepStrictEqual(header, { ...snapshotHeader, sizeBytes })
          assert.isTrue(imageOf(found).equals(imageOf(pieces)), `at ${at}`)
        }
      }),
      { numRuns: 60 }
    ))

  it("never gives a piece outside of the volume or before an earlier one, for any frames", () => {
    const number = fc.oneof(
      fc.integer({ min: -1, max: 65 }).map((n) => n * KiB4),
      fc.nat(sizeBytes * 2)
    )
    const frame = fc.tuple(
      number.map((n) => Math.max(0, n)),
      fc.integer({ min: 1, max: 3 * KiB4 })
    )
    return fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 6 }), async (frames) => {
        const file = forged(frames.map(([offset, length]) => [offset, length, Buffer.alloc(length, "x")] as const))
        const { pieces } = await openSnapshot(streamOf(file, 1000))
        let end = 0
        try {
          for await (const { offset, bytes } of pieces(sizeBytes)) {
            assert.isAtLeast(offset, end)
            end = offset + bytes.length
            assert.isAtMost(end, sizeBytes)
          }
        } catch (cause) {
          assert.instanceOf(cause, SnapshotFileFault)
        }
      }),
      { numRuns: 100 }
    )
  })

  for (const [what, file, fault] of [
    [
      "overlapping pieces",
      forged([
        [0, 2 * KiB4, Buffer.alloc(2 * KiB4)],
        [KiB4, KiB4, block]
      ]),
      /out of order/
    ],
    ["a piece behind the end", forged([[sizeBytes, KiB4, block]]), /outside of the volume/],
    ["an offset of 2^64 - 1", forged([[2 ** 64 - 2048, KiB4, block]]), /outside of the volume/],
    ["a piece of one byte", forged([[0, 1, Buffer.from("x")]]), /invalid piece/],
    ["a piece of 4 GiB", forged([[0, 2 ** 32 - 1, block]]), /outside of the volume/],
    ["data after its end", forged([[0, KiB4, block]], "more"), /after its end/]
  ] as const)
    it(`is refused for ${what}`, async () => assert.match((await faultOf(file)) ?? "", fault))

  it("is refused for a window that would take more memory, before it is made", async () => {
    const head = headOf({ ...snapshotHeader, sizeBytes })
    // A frame of zstd (RFC 8878) whose window is 128 MiB.
    const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x01, 0x00, 0x00])
    assert.match((await faultOf(Buffer.concat([head, frame]))) ?? "", /not compressed/)
  })

  it("is refused where it is cut before its digest", async () => {
    const file = await snapshotFile({ sizeBytes }, [{ offset: 0, bytes: block }])
    for (const at of [0, 10, 100, file.length - 40, file.length - 20]) {
      assert.match((await faultOf(file.subarray(0, at))) ?? "", /too soon/, `at ${at}`)
    }
  })

  it("gives no more content than it may", async () => {
    const file = forged([
      [0, KiB4, block],
      [KiB4, KiB4, block]
    ])
    assert.strictEqual(await faultOf(file, { most: 2 * KiB4 - 1 }), "too large")
    assert.isNull(await faultOf(file, { most: 2 * KiB4 }))
  })

  it("is refused for a header that is too large or invalid, or of another version", async () => {
    const [magicBytes, length] = [Buffer.from("atoll snapshot 1\n"), Buffer.alloc(4)]
    length.writeUInt32LE(2 ** 31)
    assert.match((await faultOf(Buffer.concat([magicBytes, length, Buffer.alloc(1000)]))) ?? "", /too large/)
    for (const header of [{}, null, { ...snapshotHeader, sizeBytes: -1 }, { ...snapshotHeader, owner: 0 }]) {
      assert.match((await faultOf(headOf(header as never))) ?? "", /header is invalid/)
    }
    assert.match((await faultOf(Buffer.from("atoll snapshot 2\n    "))) ?? "", /newer Atoll/)
  })
})
