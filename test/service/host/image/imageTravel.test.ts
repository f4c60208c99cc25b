/** Images on their way from one host to another: what arrives, and what is refused. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { arriving, leaving } from "../../../../src/host/image/imageTravel.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-travel-"))
afterAll(() => rmSync(folder, { recursive: true }))

const user = { name: "sandbox", uid: 1000 }
const image = { sizeBytes: 4096, config: { env: { PATH: "/bin", NAME: "\u2603" }, workingDir: "/app" } }
const from = join(folder, "from")
const to = join(folder, "to")
const content = Buffer.concat([Buffer.from("hsqs"), Buffer.alloc(3 * 1024 ** 2, "content")])
writeFileSync(from, content)

const room = async () => {}
const options = { user, maxBytes: content.length, room }

const gathered = async (pieces: AsyncIterable<Uint8Array>) => {
  const all: Array<Uint8Array> = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

/** In pieces of that length. */
async function* cut(bytes: Uint8Array, length = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

const refused = (bytes: Uint8Array, changes: Partial<typeof options> = {}) =>
  arriving(to, cut(bytes), { ...options, ...changes }).then(
    () => null,
    ({ code }) => code
  )

const headed = (head: unknown, rest: Uint8Array = content) => {
  const json = Buffer.from(typeof head === "string" ? head : JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length)
  return Buffer.concat([length, json, rest])
}

describe("an image between hosts", () => {
  it("arrives as it was, in pieces of any length", async () => {
    const bytes = await gathered(leaving(from, image, user))
    for (const length of [4093, 100_000, bytes.length]) {
      expect(await arriving(to, cut(bytes, length), options)).toEqual(image)
      expect(readFileSync(to).equals(content)).toBe(true)
    }
  })

  it("takes room before it grows", async () => {
    const taken: Array<number> = []
    const bytes = await gathered(leaving(from, image, user))
    await arriving(to, cut(bytes), { ...options, room: async (_path: string, sum: number) => void taken.push(sum) })
    expect(taken.at(-1)).toBeGreaterThanOrEqual(content.length)
    const full = async () => {
      throw new Error("no room")
    }
    await expect(arriving(to, cut(bytes), { ...options, room: full })).rejects.toThrow("no room")
  })

  it("is refused when it is larger than its bound, of another user or processor, or no such image", async () => {
    const bytes = await gathered(leaving(from, image, user))
    expect(await refused(bytes, { maxBytes: content.length - 1 })).toBe("IMAGE_TOO_LARGE")
    expect(await refused(bytes, { user: { name: "other", uid: 1000 } })).toBe("IMAGE_UNSUPPORTED")
    const head = { ...image, user, architecture: "pdp11" }
    expect(await refused(headed(head))).toBe("IMAGE_UNSUPPORTED")
    expect(await refused(headed({ ...head, sizeBytes: "many" }))).toBe("IMAGE_INVALID")
    expect(await refused(headed("{"))).toBe("IMAGE_INVALID")
    expect(await refused(Buffer.alloc(0))).toBe("IMAGE_INVALID")
    expect(await refused(Buffer.alloc(4, 255))).toBe("IMAGE_INVALID")
    const own = bytes.subarray(0, bytes.length - content.length)
    expect(await refused(own)).toBe("IMAGE_INVALID")
    expect(await refused(Buffer.concat([own, Buffer.from("no file system")]))).toBe("IMAGE_INVALID")
  })

  it("fails where its sender does", async () => {
    const bytes = await gathered(leaving(from, image, user))
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 1_000_000)
      throw new Error("The other host is gone.")
    }
    await expect(arriving(to, broken(), options)).rejects.toThrow("The other host is gone.")
  })
})
