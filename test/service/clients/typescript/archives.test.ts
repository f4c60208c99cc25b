/** The library's own tar, against the one that people have, and against a Sandbox that sends what does harm. */
import { execFileSync, spawnSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { bytesOfName, nameOfBytes } from "../../../../clients/typescript/src/archive/names.ts"
import type { DownloadOptions } from "../../../../clients/typescript/src/DirectoryOptions.ts"
import { UnreadableAnswer } from "../../../../clients/typescript/src/errors.ts"
import type { Transport } from "../../../../clients/typescript/src/http/Transport.ts"
import { downloadDirectory, staysInside } from "../../../../clients/typescript/src/node/downloadDirectory.ts"
import { packed } from "../../../../clients/typescript/src/node/uploadDirectory.ts"
import { entry, forged, tape, treeOf } from "../../../support/files/Tape.ts"

let base: string
const at = (name: string) => path.join(base, name)

beforeEach(() => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), "atoll-directories-"))
  for (const name of ["from", "to", "outside"]) fs.mkdirSync(at(name))
  fs.writeFileSync(at("outside/secret"), "secret")
})
afterEach(() => fs.rmSync(base, { recursive: true, force: true }))

const archiveOf = async (root: string, options: { readonly filter?: (path: string) => boolean } = {}) => {
  const leftOut: Array<string> = []
  const parts: Array<Uint8Array> = []
  for await (const part of packed(root, { ...options, leftOut })) parts.push(part)
  return { archive: Buffer.concat(parts), leftOut }
}

/** A service that answers so, in pieces. */
const sends = (archive: Uint8Array, piece = 10_000): Transport =>
  ({
    read: (_id: unknown, _call: unknown, use: (answer: Response) => Promise<unknown>) =>
      use(
        new Response(
          new ReadableStream({
            start(controller) {
              for (let from = 0; from < archive.length; from += piece)
                controller.enqueue(archive.subarray(from, from + piece))
              controller.close()
            }
          })
        )
      )
  }) as unknown as Transport

const unpacked = (archive: Uint8Array, options: DownloadOptions = {}, piece?: number) =>
  downloadDirectory(sends(archive, piece), { id: "sbx_1", path: "/workspace" }, at("to"), options)

const fill = (root: string) => {
  const put = (name: string, content: string | Uint8Array, mode = 0o644) => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), content, { mode })
  }
  put("a", "a")
  put("empty file", "")
  put("ünïcödé/файл 😀.txt", "text")
  put(`${"directory/".repeat(30)}${"n".repeat(120)}`, "deep")
  put("x".repeat(255), "long")
  put("large", Buffer.alloc(700_001, "0123456789"))
  put("private/key", "secret", 0o600)
  put("private/run", "#!/bin/sh", 0o755)
  fs.chmodSync(path.join(root, "private"), 0o700)
  fs.mkdirSync(path.join(root, "empty"))
  fs.symlinkSync("private/run", path.join(root, "link"))
  fs.symlinkSync("../a", path.join(root, "private/up"))
  fs.linkSync(path.join(root, "a"), path.join(root, "private/a too"))
  fs.utimesSync(path.join(root, "a"), 1_234_567_890, 1_234_567_890)
  // A number below zero would be the present.
  const before1970 = new Date(-1_000_500)
  fs.utimesSync(path.join(root, "large"), before1970, before1970)
  fs.lutimesSync(path.join(root, "link"), before1970, before1970)
  fs.chmodSync(path.join(root, "large"), 0o444)
  fs.utimesSync(path.join(root, "private"), 1_111_111_111, 1_111_111_111)
  fs.mkdirSync(path.join(root, "sealed"))
  put("sealed/in it", "sealed", 0o400)
  fs.chmodSync(path.join(root, "sealed"), 0o555)
  fs.utimesSync(path.join(root, "sealed"), before1970, before1970)
  // Names that are not UTF-8.
  const folder = Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9])])
  const latin = Buffer.concat([folder, Buffer.from([0x2f, 0xfc])])
  fs.mkdirSync(folder)
  fs.writeFileSync(latin, "latin")
  fs.symlinkSync(latin.subarray(root.length + 1), path.join(root, "to latin"))
  fs.linkSync(latin, Buffer.concat([folder, Buffer.from([0x2f, 0xfd])]))
}

describe("a directory of this machine", () => {
  it("is sent as an archive that tar unpacks as it was", async () => {
    fill(at("from"))
    execFileSync("mkfifo", [at("from/fifo")])
    const { archive, leftOut } = await archiveOf(at("from"))
    expect(leftOut).toEqual(["fifo"])
    fs.unlinkSync(at("from/fifo"))
    const { status, stderr } = spawnSync("tar", ["x", "--warning=no-timestamp", "-C", at("to")], { input: archive })
    expect([status, String(stderr)]).toEqual([0, ""])
    expect(treeOf(at("to"))).toEqual(treeOf(at("from")))
  })

  it("is sent without what a filter leaves out, and says which file could not be read", async () => {
    fill(at("from"))
    const { archive } = await archiveOf(at("from"), {
      filter: (path) => !/^(private|sealed|d|caf|to latin)/.test(path)
    })
    const listed = execFileSync("tar", ["t", "--quoting-style=literal"], { input: archive })
      .toString()
      .trim()
      .split("\n")
    expect(listed.toSorted()).toEqual(
      ["a", "empty file", "empty/", "large", "link", "x".repeat(255), "ünïcödé/", "ünïcödé/файл 😀.txt"].toSorted()
    )
    const reading = packed(at("from"), { leftOut: [], filter: (path) => path === "large" })
    await reading.next()
    fs.truncateSync(at("from/large"), 0)
    await expect(
      (async () => {
        for await (const _ of reading);
      })()
    ).rejects.toThrow(/large was cut while it was being read/)
  })
})

describe("an archive of a Sandbox", () => {
  for (const format of ["ustar", "gnu", "posix"] as const) {
    it(`is unpacked as it was: ${format}`, async () => {
      fill(at("from"))
      if (format === "ustar") fs.rmSync(at("from/directory"), { recursive: true })
      if (format === "ustar") fs.rmSync(at(`from/${"x".repeat(255)}`))
      if (format === "ustar") for (const name of ["large", "link", "sealed"]) fs.lutimesSync(at(`from/${name}`), 5, 5)
      const archive = execFileSync("tar", ["c", "-C", at("from"), `--format=${format}`, "."], { maxBuffer: 2 ** 26 })
      const progress: Array<string> = []
      const told = await unpacked(archive, { onProgress: ({ path }) => progress.push(path) })
      expect(treeOf(at("to"))).toEqual(treeOf(at("from")))
      expect(told).toEqual({ entries: treeOf(at("from")).length, bytes: expect.any(Number), leftOut: [] })
      expect(new Set(progress).size).toBe(told.entries)
      // Once more over itself, byte by byte of the headers.
      await unpacked(archive, {}, 777)
      expect(treeOf(at("to"))).toEqual(treeOf(at("from")))
    })
  }

  it("any tree that the library sent is the same when it comes back", async () => {
    const name = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
      .filter((text) => !/[/\0]/.test(text) && text !== "." && text !== ".." && Buffer.byteLength(text) <= 200)
    const files = fc.uniqueArray(
      fc.tuple(fc.array(name, { minLength: 1, maxLength: 4 }), fc.uint8Array({ maxLength: 1500 })),
      {
        maxLength: 6
      }
    )
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 2000 }), async (given, piece) => {
        for (const folder of ["from", "to"]) {
          fs.rmSync(at(folder), { recursive: true })
          fs.mkdirSync(at(folder))
        }
        for (const [names, content] of given) {
          try {
            fs.mkdirSync(path.join(at("from"), ...names.slice(0, -1)), { recursive: true })
            fs.writeFileSync(path.join(at("from"), ...names), content)
          } catch {
            // Of two names one is the other's directory.
          }
        }
        await unpacked((await archiveOf(at("from"))).archive, {}, piece)
        expect(treeOf(at("to"))).toEqual(treeOf(at("from")))
      }),
      { numRuns: 40 }
    )
  })

  it("replaces files and links whole, writes through none, and keeps what is beside them", async () => {
    fs.writeFileSync(at("to/one"), "old")
    fs.linkSync(at("to/one"), at("to/other"))
    fs.symlinkSync("../outside/secret", at("to/linked"))
    fs.writeFileSync(at("to/kept"), "kept")
    await unpacked(tape(entry({ name: "one" }, "new"), entry({ name: "linked" }, "new")))
    const read = (name: string) => fs.readFileSync(at(name), "utf8")
    expect(["to/one", "to/other", "to/linked", "to/kept", "outside/secret"].map(read)).toEqual([
      ...["new", "old", "new", "kept", "secret"]
    ])
  })

  it("leaves out links that lead out, in whatever way, what is no file, and what a filter does", async () => {
    const told = await unpacked(
      tape(
        entry({ name: "absolute", type: "2", target: "/etc/passwd" }),
        entry({ name: "up", type: "2", target: "../outside" }),
        entry({ name: "d/", type: "5" }),
        entry({ name: "d/up", type: "2", target: ".." }),
        // Its text stays inside; where it leads does not.
        entry({ name: "through", type: "2", target: "d/up/.." }),
        entry({ name: "d/same", type: "1", target: "d/up" }),
        entry({ name: "null", type: "3" }),
        entry({ name: "hidden/f" }, "x"),
        entry({ name: "second", type: "1", target: "hidden/f" })
      ),
      { filter: (path) => path !== "hidden" }
    )
    expect(told).toEqual({
      entries: 2,
      bytes: 0,
      leftOut: ["absolute", "up", "through", "d/same", "null", "second"]
    })
    expect(treeOf(at("to"))).toEqual(["d/: 644 1000000000", "d/up: -> .."])
  })

  const header = entry({ name: "f" })
  const cases: ReadonlyArray<readonly [title: string, archive: Buffer]> = [
    ["climbs by ..", tape(entry({ name: "../outside/secret" }, "x"))],
    ["climbs in the middle", tape(entry({ name: "a/../../outside/secret" }, "x"))],
    ["is absolute", tape(entry({ name: "/tmp/x" }, "x"))],
    ["climbs by a directory", tape(entry({ name: "../outside/", type: "5" }))],
    ["links hard to the outside", tape(entry({ name: "h", type: "1", target: "../outside/secret" }))],
    ["says a negative size", tape(forged(header, 124, Buffer.alloc(12, 0xff)))],
    ["says a PAX header of 8 GiB", forged(entry({ name: "x", type: "x" }), 124, "77777777777\0")],
    [
      "has a hundred PAX headers for one entry",
      tape(...Array.from({ length: 100 }, () => entry({ type: "x" }, "12 path=abc\n")))
    ],
    ["has a wrong checksum", tape(Buffer.concat([Buffer.from("g"), header.subarray(1)]))]
  ]
  it.each(cases)("that %s is not believed", async (_, archive) => {
    await expect(unpacked(archive)).rejects.toBeInstanceOf(UnreadableAnswer)
    expect(fs.readdirSync(at("outside"))).toEqual(["secret"])
    expect(fs.readFileSync(at("outside/secret"), "utf8")).toBe("secret")
    expect(fs.readdirSync(at("to"))).toEqual([])
  })

  const blocked: ReadonlyArray<readonly [title: string, archive: Buffer]> = [
    [
      "a link of its own",
      tape(entry({ name: "d/", type: "5" }), entry({ name: "l", type: "2", target: "d" }), entry({ name: "l/f" }, "x"))
    ],
    ["a link that was there", tape(entry({ name: "there/secret" }, "x"))],
    ["a link that was there, as a directory", tape(entry({ name: "there/", type: "5" }))],
    ["a file", tape(entry({ name: "f" }, "x"), entry({ name: "f/x" }, "x"))],
    ["a directory where it has a file", tape(entry({ name: "d/", type: "5" }), entry({ name: "d" }, "x"))]
  ]
  it.each(blocked)("goes not through %s", async (_, archive) => {
    fs.symlinkSync("../outside", at("to/there"))
    await expect(unpacked(archive)).rejects.toThrow(/is in the way/)
    expect(fs.readFileSync(at("outside/secret"), "utf8")).toBe("secret")
    expect(fs.readdirSync(at("outside"))).toEqual(["secret"])
    expect(fs.readdirSync(at("to")).filter((name) => name.startsWith(".atoll"))).toEqual([])
  })

  it("ends where it is larger than was wanted, when it is aborted, and when it ends early", async () => {
    const archive = tape(entry({ name: "a" }, "x".repeat(5000)), entry({ name: "b" }, "x".repeat(100_000)))
    await expect(unpacked(archive, { maxBytes: 50_000 })).rejects.toBeInstanceOf(RangeError)
    expect(fs.readdirSync(at("to"))).toEqual(["a"])
    const ending = new AbortController()
    const onProgress = () => ending.abort(new Error("enough"))
    await expect(unpacked(archive, { signal: ending.signal, onProgress })).rejects.toThrow("enough")
    // To the transport this is a lost connection, and asked for again.
    await expect(unpacked(archive.subarray(0, 60_000))).rejects.toMatchObject({ name: "ArchiveCut" })
    expect(fs.readdirSync(at("to"))).toEqual(["a"])
  })

  it("links stay inside by what they go through", () => {
    const cases = [
      ["f", 0, true],
      ["d/f", 0, true],
      ["./f", 0, true],
      ["..", 0, false],
      ["..", 1, true],
      ["../..", 1, false],
      ["../f", 1, true],
      ["d/../f", 3, false],
      ["./../f", 1, true],
      ["/", 3, false],
      ["", 3, false]
    ] as const
    for (const [target, depth, expected] of cases) expect(staysInside(target, depth), target).toBe(expected)
  })

  it("names of any bytes are text, and become those bytes again", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        expect(Buffer.from(bytesOfName(nameOfBytes(bytes))).equals(Buffer.from(bytes))).toBe(true)
      })
    )
  })
})
