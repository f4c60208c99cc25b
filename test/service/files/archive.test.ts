/** Own process: it measures the memory of the process. */
/** Archives in and out of a directory: against the common tar, and against archives made to do harm. */
import { execFileSync, spawnSync } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import zlib from "node:zlib"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { gunzipped, gzipped } from "../../../src/agent/files/archive/gzip.ts"
import { openToPack, pack } from "../../../src/agent/files/archive/pack.ts"
import { unpack } from "../../../src/agent/files/archive/unpack.ts"
import { FileRefusal } from "../../../src/agent/files/FileRefusal.ts"
import { acceptsGzip } from "../../../src/api/http/acceptsGzip.ts"
import { collectGarbage } from "../../support/collectGarbage.ts"
import { end, entry, forged, tape, treeOf } from "../../support/files/Tape.ts"
import { codeOf, pieces, TestWorkspace } from "../../support/files/TestWorkspace.ts"

const W = "/workspace"

const unpacked = (at: TestWorkspace, archive: Uint8Array, into = W) =>
  unpack(at.workspace, at.staging, into, pieces(archive))

const packed = async (at: TestWorkspace, from = W): Promise<Buffer> => {
  const parts: Array<Buffer> = []
  for await (const part of pack(at.workspace, openToPack(at.workspace, from))) parts.push(part)
  return Buffer.concat(parts)
}

/** The reason, and the progress until then. */
const refusalOf = async (act: () => Promise<unknown>) => {
  try {
    await act()
    return "it was unpacked"
  } catch (cause) {
    if (!(cause instanceof FileRefusal)) throw cause
    expect(cause.code).toBe("ARCHIVE_INCOMPLETE")
    return cause.details
  }
}

const longName = `${"directory/".repeat(30)}${"n".repeat(120)}`

const fill = (root: string, names: ReadonlyArray<string>) => {
  for (const [index, name] of names.entries()) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), `content of ${index} `.repeat(index * 200))
  }
  fs.mkdirSync(path.join(root, "empty"))
  fs.mkdirSync(path.join(root, "private"), { mode: 0o700 })
  fs.writeFileSync(path.join(root, "private/key"), "secret", { mode: 0o600 })
  fs.writeFileSync(path.join(root, "run"), "#!/bin/sh", { mode: 0o755 })
  fs.symlinkSync("run", path.join(root, "link"))
  fs.symlinkSync("/usr/bin/python3", path.join(root, "python"))
  fs.symlinkSync("../../elsewhere", path.join(root, "private/dangling"))
  fs.linkSync(path.join(root, "run"), path.join(root, "private/run-too"))
  fs.utimesSync(path.join(root, "run"), 1_234_567_890, 1_234_567_890)
  fs.utimesSync(path.join(root, "empty"), 987_654_321, 987_654_321)
  fs.utimesSync(path.join(root, "private"), 1_111_111_111, 1_111_111_111)
}

describe("an archive of the real tar", () => {
  it("keeps times before 1970, of files, directories and links, both ways", async () => {
    using from = new TestWorkspace()
    using to = new TestWorkspace()
    from.put("folder/file", "old")
    fs.symlinkSync("file", from.on("folder/link"))
    for (const name of ["folder/file", "folder/link", "folder"]) {
      fs.lutimesSync(from.on(name), new Date(-86_400_500), new Date(-86_400_500))
    }
    await unpacked(to, await packed(from))
    expect(treeOf(to.root)).toEqual(treeOf(from.root))
    expect(Math.floor(fs.statSync(to.on("folder/file")).mtimeMs / 1000)).toBe(-86_401)
  })

  for (const format of ["v7", "ustar", "gnu", "posix"] as const) {
    it(`is unpacked unchanged: ${format}`, async () => {
      using at = new TestWorkspace()
      using from = new TestWorkspace()
      const unicode = format === "v7" ? [] : ["ünïcödé/файл 😀.txt", "with\nline"]
      const long =
        format === "v7"
          ? []
          : format === "ustar"
            ? [`${"d".repeat(90)}/${"n".repeat(99)}`]
            : [longName, "x".repeat(255)]
      fill(from.root, ["a", "src/b", ...unicode, ...long])
      const archive = execFileSync("tar", ["c", "-C", from.root, `--format=${format}`, "."], { maxBuffer: 2 ** 26 })
      const { entries, bytes } = await unpacked(at, archive, `${W}/made/here`)
      expect(treeOf(at.on("made/here"))).toEqual(treeOf(from.root))
      expect(entries).toBe(treeOf(from.root).length + 1)
      expect(bytes).toBeGreaterThan(0)
      expect(fs.existsSync(at.on(".atoll-staging"))).toBe(false)
      expect(at.leakedDescriptors()).toBe(0)
      // Unpacks it over itself, read-only directories included.
      fs.chmodSync(at.on("made/here/private"), 0o500)
      await unpacked(at, archive, `${W}/made/here`)
      expect(treeOf(at.on("made/here"))).toEqual(treeOf(from.root))
    })
  }

  it("is made of a directory, and the real tar unpacks it unchanged", async () => {
    using at = new TestWorkspace()
    using to = new TestWorkspace()
    fill(at.on(""), ["a", "src/b", "ünïcödé/файл 😀.txt", longName, "x".repeat(255), "with\nline"])
    fs.symlinkSync("t".repeat(300), at.on("far"))
    fs.writeFileSync(at.on("old"), "from before the epoch")
    fs.utimesSync(at.on("old"), -1000, -1000)
    const before = treeOf(at.root)
    const { status, stderr } = spawnSync("tar", ["x", "-C", to.root], { input: await packed(at) })
    expect([status, String(stderr)]).toEqual([0, ""])
    expect(treeOf(to.root)).toEqual(before)
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("holds large files, and headers that announce eight gigabytes", async () => {
    using at = new TestWorkspace()
    const content = Buffer.alloc(3_000_001, "0123456789")
    at.put("large", content)
    const listed = execFileSync("tar", ["tv"], { input: await packed(at) }).toString()
    expect(listed).toContain(" 3000001 ")
    await unpacked(at, await packed(at), `${W}/copy`)
    expect(fs.readFileSync(at.on("copy/large")).equals(content)).toBe(true)
    const header = entry({ name: "huge", mode: 0o600, size: 2 ** 34, mtime: 0 })
    const { stderr } = spawnSync("tar", ["tv"], { input: header })
    expect(String(stderr)).toContain("Unexpected EOF")
    expect(await refusalOf(() => unpacked(at, header))).toMatchObject({ reason: "truncated", entries: 0 })
  })

  it("omits fifos and the service's own files, and is refused for a path that is no directory", async () => {
    using at = new TestWorkspace()
    at.put("f", "x")
    execFileSync("mkfifo", [at.on("fifo")])
    fs.symlinkSync(at.outside, at.on("out"))
    using _ = at.staging.create()
    const listed = execFileSync("tar", ["t"], { input: await packed(at) }).toString()
    expect(listed.split("\n").toSorted()).toEqual(["", "f", "out"])
    for (const [name, code] of [
      ["f", "NOT_A_DIRECTORY"],
      ["none", "NOT_FOUND"],
      ["out", "INVALID_PATH"]
    ] as const) {
      expect(await codeOf(() => packed(at, `${W}/${name}`)), name).toBe(code)
    }
    expect(await codeOf(() => unpacked(at, end, `${W}/f`))).toBe("NOT_A_DIRECTORY")
    expect(await codeOf(() => unpacked(at, end, `${W}/out/x`))).toBe("INVALID_PATH")
  })
})

describe("any tree", () => {
  const name = fc
    .uint8Array({ minLength: 1, maxLength: 12 })
    .map((bytes) => Buffer.from(bytes).toString("latin1"))
    .filter((text) => !/[/\0]/.test(text) && text !== "." && text !== "..")
  const mode = fc.integer({ min: 0, max: 0o777 }).map((bits) => bits | 0o600)
  const time = fc.integer({ min: -(2 ** 31), max: 2 ** 33 })
  const leaf = fc.oneof(
    fc.record({ kind: fc.constant("file" as const), content: fc.uint8Array({ maxLength: 2000 }), mode, time }),
    fc.record({
      kind: fc.constant("link" as const),
      target: fc.string({ minLength: 1, maxLength: 200 }).filter((text) => !text.includes("\0"))
    }),
    fc.record({ kind: fc.constant("second" as const) })
  )
  interface Directory {
    readonly kind: "directory"
    readonly mode: number
    readonly time: number
    readonly entries: ReadonlyArray<readonly [string, Node]>
  }
  type Leaf = typeof leaf extends fc.Arbitrary<infer L> ? L : never
  type Node = Leaf | Directory
  const { directory } = fc.letrec<{ directory: Directory; node: Node }>((tie) => ({
    node: fc.oneof({ depthSize: "small", withCrossShrink: true }, leaf, tie("directory")),
    directory: fc.record({
      kind: fc.constant("directory" as const),
      mode: mode.map((bits) => bits | 0o700),
      time,
      entries: fc.uniqueArray(fc.tuple(name, tie("node")), { maxLength: 6, selector: ([text]) => text })
    })
  }))

  const build = (at: Buffer, { entries, mode, time }: Directory, files: Array<Buffer>) => {
    for (const [text, node] of entries) {
      const full = Buffer.concat([at, Buffer.from(`/${text}`, "latin1")])
      if (node.kind === "directory") {
        fs.mkdirSync(full)
        build(full, node, files)
      } else if (node.kind === "link") fs.symlinkSync(node.target, full)
      else if (node.kind === "file") {
        fs.writeFileSync(full, node.content)
        fs.chmodSync(full, node.mode)
        fs.utimesSync(full, node.time, node.time)
        files.push(full)
      } else if (files.length > 0) fs.linkSync(files[text.length % files.length]!, full)
    }
    fs.chmodSync(at, mode)
    fs.utimesSync(at, time, time)
  }

  it("survives packing and unpacking", async () => {
    await fc.assert(
      fc.asyncProperty(directory, fc.integer({ min: 1, max: 3000 }), async (tree, cut) => {
        using from = new TestWorkspace()
        using to = new TestWorkspace()
        build(Buffer.from(from.root), tree, [])
        fs.chmodSync(from.root, 0o700)
        const archive = await packed(from)
        const parts = Array.from({ length: Math.ceil(archive.byteLength / cut) }, (_, index) =>
          archive.subarray(index * cut, (index + 1) * cut)
        )
        await unpack(to.workspace, to.staging, W, pieces(...parts))
        expect(treeOf(to.root)).toEqual(treeOf(from.root))
      }),
      { numRuns: 60 }
    )
  })
})

describe("unpacking over existing files", () => {
  it("writes through no link and to no other name of a file, and keeps the rest of a directory", async () => {
    using at = new TestWorkspace()
    at.put("one", "old")
    fs.linkSync(at.on("one"), at.on("other"))
    fs.symlinkSync(path.join(at.outside, "secret"), at.on("linked"))
    at.put("dir/kept", "kept")
    await unpacked(
      at,
      tape(entry({ name: "one" }, "new"), entry({ name: "linked" }, "new"), entry({ name: "dir/", type: "5" }))
    )
    expect(at.tree()).toEqual(["dir/", "dir/kept: kept", "linked: new", "one: new", "other: old"])
    expect(fs.readFileSync(path.join(at.outside, "secret"), "utf8")).toBe("secret")
  })

  it("of an archive that is cut anywhere leaves each file old or new, and reports its progress", async () => {
    const names = ["a", "b", "dir/c", "dir/d"]
    const content = (name: string, age: string) => `${age} ${name} `.repeat(400)
    const archive = tape(...names.map((name) => entry({ name }, content(name, "new"))))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: archive.byteLength - end.byteLength }), async (length) => {
        using at = new TestWorkspace()
        for (const name of names) at.put(name, content(name, "old"))
        const told = await refusalOf(() => unpacked(at, archive.subarray(0, length)))
        const ages = names.map((name) => {
          const found = fs.readFileSync(at.on(name), "utf8")
          return found === content(name, "new") ? "new" : found === content(name, "old") ? "old" : "broken"
        })
        const entries = ages.filter((age) => age === "new").length
        expect(ages.slice(0, entries).every((age) => age === "new")).toBe(true)
        expect(ages).not.toContain("broken")
        expect(told).toEqual({
          reason: "truncated",
          entries,
          bytes: names.slice(0, entries).reduce((sum, name) => sum + content(name, "new").length, 0),
          lastPath: names[entries - 1] ?? null
        })
        expect(at.tree().filter((line) => line.includes("staging"))).toEqual([])
      }),
      { numRuns: 60 }
    )
  })
})

describe("a malicious archive", () => {
  const header = entry({ name: "f" })
  const secret = "../outside/secret"
  const pax = (text: string) => entry({ name: "PaxHeader", type: "x" }, text)
  const record = (key: string, value: string) => {
    const rest = ` ${key}=${value}\n`
    const length = rest.length + 2 + (rest.length + 2 > 99 ? 1 : 0)
    return pax(`${length}${rest}`)
  }
  const cases: ReadonlyArray<readonly [title: string, archive: Buffer, reason: string, entries?: number]> = [
    ["climbs by ..", tape(entry({ name: secret }, "x")), "unsafe_name"],
    ["climbs by .. in the middle", tape(entry({ name: "a/../../outside/secret" }, "x")), "unsafe_name"],
    ["climbs by a directory", tape(entry({ name: "../outside/", type: "5" })), "unsafe_name"],
    ["climbs by a PAX path", tape(record("path", secret), entry({}, "x")), "unsafe_name"],
    ["climbs by a GNU name", tape(entry({ name: "L", type: "L" }, `${secret}\0`), entry({}, "x")), "unsafe_name"],
    ["climbs by ustar's prefix", tape(forged(header, 345, "../outside"), Buffer.alloc(0)), "unsafe_name"],
    ["is absolute", tape(entry({ name: "/etc/passwd" }, "x")), "unsafe_name"],
    ["names the staging folder", tape(entry({ name: ".atoll-staging/x" }, "x")), "unsafe_name"],
    [
      "names the staging folder as a link",
      tape(entry({ name: ".atoll-staging", type: "2", target: "/" })),
      "unsafe_name"
    ],
    [
      "writes through its own link",
      tape(entry({ name: "l", type: "2", target: "../outside" }), entry({ name: "l/secret" }, "x")),
      "in_the_way",
      1
    ],
    [
      "makes its own link a directory",
      tape(entry({ name: "l", type: "2", target: "../outside" }), entry({ name: "l/", type: "5" })),
      "in_the_way",
      1
    ],
    [
      "writes through two links",
      tape(
        entry({ name: "a", type: "2", target: "b" }),
        entry({ name: "b", type: "2", target: "../outside" }),
        entry({ name: "a/secret" }, "x")
      ),
      "in_the_way",
      2
    ],
    ["links hard to the outside by ..", tape(entry({ name: "h", type: "1", target: secret })), "unsafe_name"],
    [
      "links hard to the outside by an absolute name",
      tape(entry({ name: "h", type: "1", target: "/etc/passwd" })),
      "unsafe_name"
    ],
    [
      "links hard through its own link",
      tape(entry({ name: "l", type: "2", target: "../outside" }), entry({ name: "h", type: "1", target: "l/secret" })),
      "in_the_way",
      1
    ],
    ["links hard to nothing", tape(entry({ name: "h", type: "1", target: "none" })), "missing_target"],
    [
      "links hard to a directory",
      tape(entry({ name: "d/", type: "5" }), entry({ name: "h", type: "1", target: "d" })),
      "not_permitted",
      1
    ],
    ["replaces a directory by a file", tape(entry({ name: "d/f" }), entry({ name: "d" })), "in_the_way", 1],
    ["replaces a file by a directory", tape(entry({ name: "f" }), entry({ name: "f/", type: "5" })), "in_the_way", 1],
    ["has a file where it needs a directory", tape(entry({ name: "f" }), entry({ name: "f/x" })), "in_the_way", 1],
    ["is a character device", tape(entry({ name: "null", type: "3" })), "unsupported_entry"],
    ["is a block device", tape(entry({ name: "sda", type: "4" })), "unsupported_entry"],
    ["is a fifo", tape(entry({ name: "fifo", type: "6" })), "unsupported_entry"],
    ["is sparse, in GNU's way", tape(entry({ name: "s", type: "S" })), "unsupported_entry"],
    ["is sparse, in PAX's way", tape(record("GNU.sparse.major", "1"), entry({})), "unsupported_entry"],
    ["is of no known kind", tape(entry({ name: "q", type: "Q" })), "unsupported_entry"],
    ["has a name of 256 bytes", tape(entry({ name: `${"n".repeat(256)}` })), "name_too_long"],
    ["has a path of 5000 bytes", tape(entry({ name: "d/".repeat(2500) })), "name_too_long"],
    ["links to 5000 bytes", tape(entry({ name: "l", type: "2", target: "d/".repeat(2500) })), "name_too_long"],
    ["has NUL in a name", tape(record("path", "a\0b"), entry({})), "unsafe_name"],
    ["has a link without a target", tape(entry({ name: "l", type: "2" })), "malformed"],
    ["has an empty name", tape(entry({ name: "./." }, "x")), "unsafe_name"],
    ["has a negative size", tape(forged(header, 124, Buffer.alloc(12, 0xff))), "malformed"],
    ["has a size of 2^80", tape(forged(header, 124, Buffer.from([0x80, 1, ...Buffer.alloc(10)]))), "malformed"],
    ["has a size beyond its end", entry({ size: 2 ** 33 }), "truncated"],
    ["has an invalid PAX size", tape(record("size", "-5"), entry({})), "malformed"],
    ["has a time of 1e300", tape(record("mtime", "1e300"), entry({})), "malformed"],
    ["has a time beyond the calendar", tape(record("mtime", "999999999999999"), entry({})), "malformed"],
    ["has letters for a mode", tape(forged(header, 100, "rw-r--r")), "malformed"],
    ["has a wrong checksum", tape(Buffer.concat([Buffer.from("g"), header.subarray(1)])), "malformed"],
    ["has a PAX record that is longer than its header", tape(pax("999 path=x\n"), entry({})), "malformed"],
    ["has a PAX record without a length", tape(pax("path=x\n"), entry({})), "malformed"],
    ["has a PAX record of length 0", tape(pax("0 path=x\n"), entry({})), "malformed"],
    ["has a PAX header of 2 MiB", tape(pax(`${2 ** 21} comment=${"x".repeat(2 ** 21)}`), entry({})), "malformed"],
    ["declares a PAX header of 8 GiB", forged(entry({ name: "x", type: "x" }), 124, "77777777777\0"), "malformed"],
    [
      "has a hundred PAX headers for one entry",
      tape(...Array.from({ length: 100 }, () => record("comment", "x")), entry({})),
      "malformed"
    ],
    ["is compressed without a declaration", zlib.gzipSync(tape(entry({}))), "malformed"],
    ["is a text", Buffer.from("not an archive ".repeat(100)), "malformed"],
    ["is nothing", Buffer.alloc(0), "truncated"],
    ["is part of a header", header.subarray(0, 100), "truncated"]
  ]
  for (const [title, archive, reason, entries = 0] of cases) {
    it(`that ${title} is refused`, async () => {
      using at = new TestWorkspace()
      const told = await refusalOf(() => unpacked(at, archive))
      expect(told).toMatchObject({ reason, entries })
      expect(fs.readdirSync(at.base).toSorted()).toEqual(["outside", "workspace"])
      expect(fs.readdirSync(at.outside)).toEqual(["secret"])
      expect(fs.readFileSync(path.join(at.outside, "secret"), "utf8")).toBe("secret")
      expect(at.tree().filter((line) => line.includes("staging"))).toEqual([])
      expect(at.leakedDescriptors()).toBe(0)
    })
  }

  it("keeps links to any target, and no set-user-ID bit", async () => {
    using at = new TestWorkspace()
    await unpacked(
      at,
      tape(
        entry({ name: "l", type: "2", target: "../outside" }),
        entry({ name: "again", type: "1", target: "l" }),
        entry({ name: "x", mode: 0o6755 }, "x")
      )
    )
    expect(treeOf(at.root)).toEqual(["again: -> ../outside #2", "l: -> ../outside #2", "x: 755 1000000000 x"])
  })

  it("with a bomb of headers is refused once it has more entries than any tree", async () => {
    using at = new TestWorkspace()
    const many = Buffer.concat(Array.from({ length: 1000 }, () => entry({ name: "./", type: "5" })))
    async function* bomb() {
      for (;;) yield many
    }
    const told = await refusalOf(() => unpack(at.workspace, at.staging, W, bomb(), 5000))
    expect(told).toMatchObject({ reason: "too_large", entries: 5000 })
  })

  it("may have as many headers as entries, and unknown ones are skipped without memory", async () => {
    using at = new TestWorkspace()
    const key = (n: number) => `SOME.key${n}`
    let kept = 0
    async function* bomb() {
      const value = "v".repeat(900_000)
      const header = (n: number) => {
        const record = ` ${key(n)}=${value}\n`
        return entry({ name: "g", type: "g" }, `${record.length + 6}${record}`)
      }
      collectGarbage()
      const before = process.memoryUsage().heapUsed
      for (let n = 0; n < 80; n += 1) {
        yield header(1000 + n)
        if (n % 8 === 0) yield entry({ name: "./", type: "5" })
      }
      collectGarbage()
      kept = process.memoryUsage().heapUsed - before
      const path = " path=renamed\n"
      yield entry({ name: "g", type: "g" }, `${path.length + 2}${path}`)
      yield tape(entry({ name: "f" }, "content"))
    }
    await unpack(at.workspace, at.staging, W, bomb())
    expect(kept).toBeLessThan(32 * 1024 * 1024)
    expect(at.tree()).toEqual(["renamed: content"])
  })

  it("does not follow a directory that is swapped for a link meanwhile", async () => {
    using at = new TestWorkspace()
    at.put("d/f", "old")
    async function* racing() {
      for (let turn = 0; turn < 200; turn += 1) {
        yield entry({ name: `d/f${turn}` }, "x")
        // Between two entries, and so between any two calls.
        if (turn % 2 === 0) {
          fs.renameSync(at.on("d"), at.on("real"))
          fs.symlinkSync(at.outside, at.on("d"))
        } else {
          fs.unlinkSync(at.on("d"))
          fs.renameSync(at.on("real"), at.on("d"))
        }
      }
      yield end
    }
    await refusalOf(() => unpack(at.workspace, at.staging, W, racing()))
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })
})

describe("compressed by gzip", () => {
  const all = async (content: AsyncIterable<Uint8Array>) => {
    const parts: Array<Uint8Array> = []
    for await (const part of content) parts.push(part)
    return Buffer.concat(parts)
  }

  it("an archive goes both ways, whole and byte by byte", async () => {
    const archive = tape(entry({ name: "f" }, "content ".repeat(1000)))
    const compressed = await all(gzipped(pieces(archive)))
    expect(zlib.gunzipSync(compressed).equals(archive)).toBe(true)
    const bytes = Array.from(compressed, (byte) => Buffer.of(byte))
    expect((await all(gunzipped(pieces(...bytes)))).equals(archive)).toBe(true)
  })

  it("an archive that is not gzip, is cut, or has a wrong checksum is refused", async () => {
    using at = new TestWorkspace()
    const compressed = zlib.gzipSync(tape(entry({ name: "f" }, "content")))
    const told = (bytes: Uint8Array) => refusalOf(() => unpack(at.workspace, at.staging, W, gunzipped(pieces(bytes))))
    expect(await told(tape(entry({})))).toMatchObject({ reason: "malformed", entries: 0 })
    expect(await told(compressed.subarray(0, 40))).toMatchObject({ reason: "truncated" })
    const wrong = Buffer.from(compressed)
    wrong.writeUInt8(wrong.readUInt8(wrong.length - 6) ^ 0xff, wrong.length - 6)
    expect(await told(wrong)).toMatchObject({ reason: "malformed" })
  })

  it("an archive closes its source when its reader stops", async () => {
    let ended = false
    async function* endless() {
      try {
        for (;;) yield Buffer.alloc(100_000)
      } finally {
        ended = true
      }
    }
    for await (const _ of gzipped(endless())) break
    expect(ended).toBe(true)
  })

  it("an archive is sent compressed to clients that accept it", () => {
    const cases = [
      [undefined, false],
      ["", false],
      ["gzip", true],
      ["GZIP", true],
      ["x-gzip", true],
      ["deflate, gzip;q=0.5, br", true],
      ["*", true],
      ["*;q=0", false],
      ["gzip;q=0", false],
      ["gzip; q=0.000, *", false],
      ["br, zstd", false],
      ["identity", false]
    ] as const
    for (const [header, expected] of cases) expect(acceptsGzip(header), header).toBe(expected)
  })
})
