/** Own process: it measures the memory of the process. */
import { createHash } from "node:crypto"
import fs from "node:fs"
import { describe, expect, it, vi } from "vitest"
import { contentMaxBytes } from "../../../src/agent/files/limits.ts"
import { openRange } from "../../../src/agent/files/read.ts"
import { writePath } from "../../../src/agent/files/write.ts"
import { codeOf, pieces, TestWorkspace } from "../../support/files/TestWorkspace.ts"

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex")

/** A range and its bytes. */
const read = async (
  at: TestWorkspace,
  path: string,
  offset: number,
  maxBytes: number,
  version: string | null = null
) => {
  const range = await openRange(at.workspace, path, { offset, maxBytes, version })
  using file = range.file
  const bytes = Buffer.alloc(range.nextOffset - range.offset)
  const got = bytes.byteLength === 0 ? 0 : fs.readSync(file.descriptor, bytes, 0, bytes.byteLength, range.offset)
  expect(got).toBe(bytes.byteLength)
  const { nextOffset, sizeBytes, eof, version: now } = range
  return { bytes, nextOffset, sizeBytes, eof, version: now }
}

describe("read", () => {
  it("ranges join to the whole file and only the last says eof", async () => {
    using at = new TestWorkspace()
    const content = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251))
    at.put("file", content)
    const parts: Array<Buffer> = []
    let version: string | null = null
    for (let offset = 0, eof = false; !eof; ) {
      const range: Awaited<ReturnType<typeof read>> = await read(at, "/workspace/file", offset, 300, version)
      parts.push(range.bytes)
      version = range.version
      offset = range.nextOffset
      eof = range.eof
      expect(range.sizeBytes).toBe(1000)
      expect(eof).toBe(offset === 1000)
    }
    expect(Buffer.concat(parts).equals(content)).toBe(true)
  })

  it("a range past the end is empty, at the requested offset", async () => {
    using at = new TestWorkspace()
    at.put("file", "abc")
    for (const offset of [3, 4, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      expect(await read(at, "/workspace/file", offset, 10)).toMatchObject({
        nextOffset: offset,
        sizeBytes: 3,
        eof: true
      })
    }
    at.put("empty")
    expect(await read(at, "/workspace/empty", 0, 10)).toMatchObject({ nextOffset: 0, sizeBytes: 0, eof: true })
  })

  it("a file of 3 TiB that is nearly all hole is read at any offset", async () => {
    using at = new TestWorkspace()
    at.put("sparse")
    const offset = 3 * 1024 ** 4
    fs.truncateSync(at.on("sparse"), offset)
    fs.appendFileSync(at.on("sparse"), "end")
    const range = await read(at, "/workspace/sparse", offset - 2, 100)
    expect(range).toMatchObject({ sizeBytes: offset + 3, nextOffset: offset + 3, eof: true })
    expect(range.bytes.toString()).toBe("\0\0end")
  })

  const changes: ReadonlyArray<readonly [string, (at: TestWorkspace) => unknown]> = [
    ["growth", (at) => fs.appendFileSync(at.on("file"), "x")],
    ["a cut", (at) => fs.truncateSync(at.on("file"), 5)],
    ["other bytes of the same length in place", (at) => fs.writeFileSync(at.on("file"), "y".repeat(100))],
    [
      "a replacement of the same length",
      (at) => writePath(at.workspace, at.staging, "/workspace/file", pieces("z".repeat(100)))
    ],
    [
      "other bytes with the old mtime set again",
      (at) => {
        const { atime, mtime } = fs.statSync(at.on("file"))
        fs.writeFileSync(at.on("file"), "y".repeat(100))
        fs.utimesSync(at.on("file"), atime, mtime)
      }
    ]
  ]
  it.each(changes)("a continued read notices %s immediately", async (_, change) => {
    using at = new TestWorkspace()
    at.put("file", "x".repeat(100))
    const { version } = await read(at, "/workspace/file", 0, 10)
    expect((await read(at, "/workspace/file", 10, 10, version)).bytes.byteLength).toBe(10)
    await change(at)
    expect(await codeOf(() => read(at, "/workspace/file", 20, 10, version))).toBe("CURSOR_STALE")
  })

  it("a reader that has the old file open reads it to the end while it is replaced", async () => {
    using at = new TestWorkspace()
    at.put("file", "old ".repeat(1000))
    const range = await openRange(at.workspace, "/workspace/file", { offset: 0, maxBytes: 4000, version: null })
    using file = range.file
    await writePath(at.workspace, at.staging, "/workspace/file", pieces("new"))
    expect(fs.readFileSync(file.descriptor, "utf8")).toBe("old ".repeat(1000))
  })
})

describe("write", () => {
  it("makes a file with mode 0644, and keeps the mode of an existing one", async () => {
    using at = new TestWorkspace()
    await writePath(at.workspace, at.staging, "/workspace/new", pieces("a", "", "bc"))
    expect(fs.readFileSync(at.on("new"), "utf8")).toBe("abc")
    expect(fs.statSync(at.on("new")).mode & 0o7777).toBe(0o644)
    fs.chmodSync(at.on("new"), 0o750)
    await writePath(at.workspace, at.staging, "/workspace/new", pieces())
    expect(fs.readFileSync(at.on("new"), "utf8")).toBe("")
    expect(fs.statSync(at.on("new")).mode & 0o7777).toBe(0o750)
    expect(at.tree()).toEqual(["new: "])
  })

  it("refuses a missing parent, a directory and a body that is too large, and leaves nothing", async () => {
    using at = new TestWorkspace()
    at.put("dir/file", "old")
    const put = (path: string, ...parts: ReadonlyArray<string | Uint8Array>) =>
      codeOf(() => writePath(at.workspace, at.staging, path, pieces(...parts)))
    expect(await put("/workspace/none/file", "x")).toBe("NOT_FOUND")
    expect(await put("/workspace/dir", "x")).toBe("IS_A_DIRECTORY")
    expect(await put("/workspace", "x")).toBe("IS_A_DIRECTORY")
    expect(await put("/workspace/dir/file/x", "x")).toBe("NOT_A_DIRECTORY")
    expect(await put("/workspace/dir/file", Buffer.alloc(contentMaxBytes), "x")).toBe("PAYLOAD_TOO_LARGE")
    expect(await put("/workspace/dir/full", Buffer.alloc(contentMaxBytes))).toBe("ok")
    expect(at.tree().map((line) => line.slice(0, 20))).toEqual([
      "dir/",
      "dir/file: old",
      "dir/full: \0\0\0\0\0\0\0\0\0\0"
    ])
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("leaves the old content and no staging file when the body breaks off", async () => {
    using at = new TestWorkspace()
    at.put("file", "old")
    const broken = async function* () {
      yield Buffer.alloc(300_000)
      throw new Error("connection lost")
    }
    await expect(writePath(at.workspace, at.staging, "/workspace/file", broken())).rejects.toThrow("connection lost")
    expect(at.tree()).toEqual(["file: old"])
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("a failure is reported once nothing flushes any more, for the descriptor is closed then", async () => {
    using at = new TestWorkspace()
    const { fsync } = fs
    let underWay = 0
    let begun = 0
    const slow = vi.spyOn(fs, "fsync").mockImplementation((descriptor, done) => {
      begun += 1
      underWay += 1
      setTimeout(() => {
        fsync(descriptor, (error) => {
          underWay -= 1
          done(error)
        })
      }, 20)
    })
    const broken = async function* () {
      for (let mebibyte = 0; mebibyte < 6; mebibyte += 1) yield Buffer.alloc(1024 ** 2)
      throw new Error("It breaks off.")
    }
    try {
      await expect(writePath(at.workspace, at.staging, "/workspace/file", broken())).rejects.toThrow("It breaks off.")
      expect(begun).toBeGreaterThan(1)
      expect(underWay).toBe(0)
    } finally {
      slow.mockRestore()
    }
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("shows every concurrent reader one whole content", async () => {
    using at = new TestWorkspace()
    const content = (letter: number) => Buffer.alloc(200_000, letter)
    at.put("file", content(65))
    let writing = true
    const writers = Promise.all(
      [66, 67, 68].map(async (letter) => {
        for (let round = 0; round < 8; round += 1) {
          const whole = content(letter)
          await writePath(
            at.workspace,
            at.staging,
            "/workspace/file",
            pieces(whole.subarray(0, 70_000), whole.subarray(70_000))
          )
        }
      })
    ).finally(() => {
      writing = false
    })
    let reads = 0
    while (writing) {
      const { bytes } = await read(at, "/workspace/file", 0, 1 << 20)
      expect(bytes.equals(content(bytes[0]!))).toBe(true)
      reads += 1
      await new Promise(setImmediate)
    }
    await writers
    expect(reads).toBeGreaterThan(3)
    expect(at.tree()).toHaveLength(1)
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("allows the Sandbox to remove, replace or link away the staging folder at any time", async () => {
    using at = new TestWorkspace()
    const staging = at.on(".atoll-staging")
    fs.symlinkSync(at.outside, staging)
    await writePath(at.workspace, at.staging, "/workspace/a", pieces("a"))
    fs.writeFileSync(staging, "a file")
    await writePath(at.workspace, at.staging, "/workspace/b", pieces("b"))
    const robbed = async function* () {
      yield Buffer.from("c")
      fs.renameSync(staging, at.on("elsewhere"))
      yield Buffer.from("c")
    }
    await writePath(at.workspace, at.staging, "/workspace/c", robbed())
    const emptied = async function* () {
      yield Buffer.from("d")
      fs.rmSync(staging, { recursive: true })
      yield Buffer.from("d")
    }
    expect(await codeOf(() => writePath(at.workspace, at.staging, "/workspace/d", emptied()))).toBe("NOT_FOUND")
    expect(at.tree()).toEqual(["a: a", "b: b", "c: cc", "elsewhere/"])
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })

  it("removes what a crash left behind, and nothing else", async () => {
    using at = new TestWorkspace()
    at.put(".atoll-staging/0123", "half")
    at.put(".atoll-staging/odd/deep", "by someone")
    at.put("file", "kept")
    await at.staging.sweep()
    expect(at.tree()).toEqual(["file: kept"])
    await at.staging.sweep()
  })
})

describe("edit", () => {
  const edit = (
    at: TestWorkspace,
    path: string,
    seen: string | Uint8Array,
    oldText: string,
    newText: string,
    replaceAll = false
  ) => at.editor.edit(path, { expectedSha256: sha256(seen), oldText, newText, replaceAll })

  it("replaces the one occurrence, or all", async () => {
    using at = new TestWorkspace()
    at.put("file", "one two one")
    expect(await edit(at, "/workspace/file", "one two one", "two", "zwei €")).toEqual({
      sizeBytes: 16,
      sha256: sha256("one zwei € one"),
      replacements: 1
    })
    expect(await edit(at, "/workspace/file", "one zwei € one", "one", "", true)).toMatchObject({ replacements: 2 })
    expect(fs.readFileSync(at.on("file"), "utf8")).toBe(" zwei € ")
  })

  it("counts occurrences that do not overlap, as text replacement does", async () => {
    using at = new TestWorkspace()
    at.put("file", "aaaaa")
    expect(await edit(at, "/workspace/file", "aaaaa", "aa", "b", true)).toMatchObject({ replacements: 2 })
    expect(fs.readFileSync(at.on("file"), "utf8")).toBe("bba")
  })

  it("refuses with the contract's codes and changes nothing", async () => {
    using at = new TestWorkspace()
    const latin = Buffer.from([0x63, 0xe9])
    at.put("file", "one two one")
    at.put("latin", latin)
    at.put("big", Buffer.alloc(contentMaxBytes + 1, "a"))
    at.put("wide", Buffer.alloc(contentMaxBytes, "a"))
    fs.mkdirSync(at.on("dir"))
    const before = at.tree()
    const code = (...args: Parameters<typeof edit> extends [unknown, ...infer Rest] ? Rest : never) =>
      codeOf(() => edit(at, ...args))
    expect(await code("/workspace/file", "one two one", "one", "x")).toBe("TEXT_AMBIGUOUS")
    expect(await code("/workspace/file", "one two one", "three", "x")).toBe("TEXT_NOT_FOUND")
    expect(await code("/workspace/file", "something else", "one", "x")).toBe("PRECONDITION_FAILED")
    expect(await code("/workspace/file", "one two one", "", "x")).toBe("INVALID_REQUEST")
    expect(await code("/workspace/file", "one two one", "one", "\ud800", true)).toBe("INVALID_REQUEST")
    expect(await code("/workspace/latin", latin, "c", "x")).toBe("INVALID_REQUEST")
    expect(await code("/workspace/big", "", "a", "x")).toBe("PAYLOAD_TOO_LARGE")
    expect(await code("/workspace/wide", Buffer.alloc(contentMaxBytes, "a"), "a", "bb", true)).toBe("PAYLOAD_TOO_LARGE")
    expect(await code("/workspace/none", "", "a", "x")).toBe("NOT_FOUND")
    expect(await code("/workspace/dir", "", "a", "x")).toBe("IS_A_DIRECTORY")
    await expect(edit(at, "/workspace/file", "other", "one", "x")).rejects.toMatchObject({
      details: { actualSha256: sha256("one two one") }
    })
    await expect(edit(at, "/workspace/file", "one two one", "one", "x")).rejects.toMatchObject({
      details: { occurrences: 2 }
    })
    expect(at.tree()).toEqual(before)
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("keeps the mode and a byte-order mark", async () => {
    using at = new TestWorkspace()
    at.put("script", "\ufeffecho a")
    fs.chmodSync(at.on("script"), 0o755)
    await edit(at, "/workspace/script", "\ufeffecho a", "a", "b")
    expect(fs.readFileSync(at.on("script"), "utf8")).toBe("\ufeffecho b")
    expect(fs.statSync(at.on("script")).mode & 0o7777).toBe(0o755)
  })

  it("of 50 concurrent editors that saw the same file exactly one wins, the others learn the new hash", async () => {
    using at = new TestWorkspace()
    at.put("dir/file", "base")
    fs.symlinkSync("dir/file", at.on("link"))
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, editor) =>
        edit(at, editor % 2 === 0 ? "/workspace/dir/file" : "/workspace/link", "base", "base", `by ${editor}`)
      )
    )
    const won = outcomes.filter((outcome) => outcome.status === "fulfilled")
    expect(won).toHaveLength(1)
    const now = fs.readFileSync(at.on("dir/file"), "utf8")
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({ code: "PRECONDITION_FAILED", details: { actualSha256: sha256(now) } })
      }
    }
    expect(at.tree()).toEqual(["dir/", `dir/file: ${now}`, "link -> dir/file"])
  })

  it("edits and whole writes of one file never lose an acknowledged edit to a stale one", async () => {
    using at = new TestWorkspace()
    at.put("file", "0")
    const counted = async () => {
      for (;;) {
        const seen = fs.readFileSync(at.on("file"), "utf8")
        const code = await codeOf(() => edit(at, "/workspace/file", seen, seen, String(Number(seen) + 1)))
        if (code === "ok") return
        expect(code).toBe("PRECONDITION_FAILED")
      }
    }
    await Promise.all(Array.from({ length: 20 }, counted))
    expect(fs.readFileSync(at.on("file"), "utf8")).toBe("20")
  })

  it("eight million occurrences take no additional memory", async () => {
    using at = new TestWorkspace()
    const whole = Buffer.alloc(contentMaxBytes, "a")
    at.put("file", whole)
    const before = process.memoryUsage().heapUsed
    expect(await edit(at, "/workspace/file", whole, "a", "b", true)).toMatchObject({ replacements: contentMaxBytes })
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024)
    expect(fs.readFileSync(at.on("file")).equals(Buffer.alloc(contentMaxBytes, "b"))).toBe(true)
  })
})
