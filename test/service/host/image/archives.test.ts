/** Archives of images as a host takes them: whole ones, and those that lie. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { ImageStore } from "../../../../src/host/image/ImageStore.ts"
import { ImageUploads } from "../../../../src/host/image/ImageUploads.ts"
import { type MakeOptions, takeArchive } from "../../../../src/host/image/pullImage.ts"
import { mustRun } from "../../../../src/host/linux/hostCommand.ts"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import { type ArchiveOptions, layoutArchive } from "../../../support/host/image/layoutArchive.ts"
import { type LayerEntry, layerOf, ociTypes } from "../../../support/host/image/TestRegistry.ts"

const MiB = 1024 ** 2
const obstacle = missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null
const folder = mkdtempSync(join(tmpdir(), "atoll-archives-"))
const store = new ImageStore(folder)
const upload = join(folder, "archive")

afterAll(() => rmSync(folder, { recursive: true }))

const options: MakeOptions = {
  store,
  user: { name: "sandbox", uid: 1000 },
  maxBytes: 64 * MiB,
  signal: AbortSignal.timeout(30_000),
  inTurn: (_key, act) => act(),
  room: async () => {},
  giveBack: () => {},
  large: async () => ({ [Symbol.dispose]: () => {} })
}

const layers = [layerOf([{ name: "greeting", content: "hello" }])]

const taken = async (archive: Buffer) => {
  writeFileSync(upload, archive)
  return (await takeArchive(upload, options)).image
}

const refusal = async (archive: Buffer) =>
  await taken(archive).then(
    () => null,
    ({ code, message }) => `${code}: ${message}`
  )

const changed = (changes: Partial<ArchiveOptions>) => layoutArchive({ layers, ...changes }).archive

const isBlob = ({ name }: LayerEntry) => /^blobs\/sha256\/./.test(name)

/** A header that claims a size which does not follow. */
const claiming = (name: string, size: number): Buffer => {
  const header = layerOf([{ name, content: "" }]).subarray(0, 512)
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124, "latin1")
  header.write(" ".repeat(8), 148, "latin1")
  const sum = header.reduce((all, byte) => all + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1")
  return header
}

describe.skipIf(obstacle !== null)("an archive of an image", () => {
  afterEach(() => {
    const left = readdirSync(folder).includes(".images") ? readdirSync(store.folder) : []
    expect(left.filter((it) => !/^[0-9a-f]{64}\.(sqfs|json)$/.test(it))).toEqual([])
  })

  it("becomes the image of its manifest, which is the same when it comes again", async () => {
    const { archive, digest } = layoutArchive({ layers, config: { Env: ["COLOUR=blue"] } })
    const image = await taken(archive)
    expect(image).toMatchObject({ digest, config: { env: { COLOUR: "blue" } } })
    expect(await mustRun(["unsquashfs", "-cat", store.path(digest), "greeting"])).toBe("hello")
    expect(await taken(archive)).toEqual(image)
  })

  it("may have several images, of which the one for this host is taken, and links and names that lead elsewhere", async () => {
    const other = { mediaType: ociTypes.manifest, digest: `sha256:${"0".repeat(64)}`, size: 1 }
    const platform = { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch }
    const { archive, digest } = layoutArchive({
      layers: [layerOf([{ name: "chosen", content: "hello" }])],
      manifests: (ours) => [
        { ...other, platform: { os: "linux", architecture: "s390x" } },
        { ...ours, platform }
      ],
      entries: (entries) => [
        { name: "../../outside", content: "x" },
        { name: "/etc/outside", content: "x" },
        { name: "blobs/link", type: "2", target: "/etc/passwd" },
        { name: "index.json", content: "{}" },
        ...entries
      ]
    })
    expect((await taken(archive)).digest).toBe(digest)
    expect(readdirSync(folder).toSorted()).toEqual([".images", "archive"])
  })

  it("is refused where it is not what it says", async () => {
    const lacking = changed({ entries: (all) => all.filter((it, at) => !isBlob(it) || at % 2 === 0) })
    expect(await refusal(lacking)).toMatch(/^IMAGE_INVALID: .*lacks a file/)
    const swapped = changed({ entries: (all) => all.map((it) => (isBlob(it) ? { ...it, content: "other" } : it)) })
    expect(await refusal(swapped)).toMatch(/^IMAGE_INVALID: .*not what its manifest names/)
    const layer = layerOf([{ name: "../up", content: "x" }])
    expect(await refusal(changed({ layers: [layer] }))).toMatch(/^IMAGE_INVALID: .*no layer may have/)
    const foreign = changed({ architecture: "s390x" })
    expect(await refusal(foreign)).toMatch(/^IMAGE_UNSUPPORTED: .*not for Linux on this host/)
    const elsewhere = { platform: { os: "linux", architecture: "s390x" } }
    const both = changed({
      manifests: (it) => [
        { ...it, ...elsewhere },
        { ...it, ...elsewhere, digest: `sha256:${"1".repeat(64)}` }
      ]
    })
    expect(await refusal(both)).toMatch(/^IMAGE_UNSUPPORTED: .*not for Linux on this host/)
    const unsaid = changed({ manifests: (it) => [it, { ...it, digest: `sha256:${"1".repeat(64)}` }] })
    expect(await refusal(unsaid)).toMatch(/^IMAGE_INVALID: .*several images/)
    expect(await refusal(changed({ manifests: () => [] }))).toMatch(/^IMAGE_INVALID/)
    expect(await refusal(layerOf([{ name: "manifest.json", content: "[]" }]))).toMatch(
      /^IMAGE_UNSUPPORTED: .*index.json/
    )
    expect(await refusal(gzipSync(changed({})))).toMatch(/^IMAGE_UNSUPPORTED: .*compressed/)
    expect(await refusal(Buffer.from("no archive"))).toMatch(/^IMAGE_INVALID: .*no whole tar/)
    expect(await refusal(changed({}).subarray(0, 3000))).toMatch(/^IMAGE_INVALID: .*no whole tar/)
    expect(await refusal(Buffer.concat([claiming("index.json", 8 * 1024 ** 3 - 1), Buffer.alloc(MiB)]))).toMatch(
      /^IMAGE_INVALID: .*no whole tar/
    )
    const vast = layerOf([{ name: "index.json", content: Buffer.alloc(5 * MiB) }])
    expect(await refusal(vast)).toMatch(/^IMAGE_TOO_LARGE/)
    const zeros = layerOf([{ name: "zeros", content: Buffer.alloc(65 * MiB) }])
    expect(await refusal(changed({ layers: [zeros] }))).toMatch(/^IMAGE_TOO_LARGE/)
    const many = layerOf(Array.from({ length: 10_001 }, (_, at) => ({ name: `file-${at}` })))
    expect(await refusal(many)).toMatch(/^IMAGE_TOO_LARGE/)
  })

  it("leaves nothing where it breaks off or is too large", async () => {
    const uploads = new ImageUploads(join(folder, "uploads"))
    const received = (pieces: AsyncIterable<Uint8Array>) =>
      uploads.receive("img_1", pieces, { maxBytes: MiB, room: async () => {}, giveBack: () => {} })
    async function* endless() {
      for (;;) yield Buffer.alloc(64 * 1024)
    }
    async function* broken() {
      yield Buffer.alloc(1000)
      throw new Error("cut off")
    }
    await expect(received(endless())).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" })
    await expect(received(broken())).rejects.toThrow("cut off")
    expect(readdirSync(uploads.folder)).toEqual([])
    rmSync(uploads.folder, { recursive: true })
  })
})
