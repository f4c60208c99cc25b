import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { nameBytes, nameText, parsePath } from "../../../src/agent/files/names.ts"
import { codeOf } from "../../support/files/TestWorkspace.ts"

const anyName = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("latin1"))

describe("names that are bytes, shown as text", () => {
  it("every byte string has one shown form that addresses it again", () => {
    fc.assert(
      fc.property(anyName, (name) => {
        const text = nameText(name)
        expect(text.isWellFormed()).toBe(true)
        expect(nameBytes(text)).toBe(name)
      }),
      { numRuns: 2000 }
    )
  })

  it("UTF-8 names are shown as they are", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        expect(nameText(Buffer.from(text).toString("latin1"))).toBe(text)
      })
    )
  })

  it("a byte that is no UTF-8 becomes U+10FE00 + byte", () => {
    expect(nameText("caf\xe9")).toBe("caf\u{10fee9}")
    expect(nameText("\xff\xfe")).toBe("\u{10feff}\u{10fefe}")
  })

  it("a name that looks like an escape is escaped itself", () => {
    const name = Buffer.from("\u{10fee9}").toString("latin1")
    expect(nameText(name)).not.toBe("\u{10fee9}")
    expect(nameBytes(nameText(name))).toBe(name)
  })

  it("no text makes a slash, a NUL or a dot segment out of escapes", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.integer({ min: 0x10fe00, max: 0x10ff7f }).map((point) => String.fromCodePoint(point)),
          { minLength: 1 }
        ),
        (characters) => {
          const name = nameBytes(characters.join(""))
          expect(name).not.toMatch(/[/\0]/)
          expect([".", ".."]).not.toContain(name)
        }
      )
    )
  })
})

const valid: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["/workspace", []],
  ["/workspace/a", ["a"]],
  ["/workspace/a/b/c", ["a", "b", "c"]],
  ["/workspace/...", ["..."]],
  ["/workspace/.hidden", [".hidden"]],
  ["/workspace/..a", ["..a"]],
  ["/workspace/a..", ["a.."]],
  ["/workspace/a b", ["a b"]],
  ["/workspace/ ", [" "]],
  ["/workspace/\t", ["\t"]],
  ["/workspace/line\nbreak", ["line\nbreak"]],
  ["/workspace/%2e%2e", ["%2e%2e"]],
  ["/workspace/%2F", ["%2F"]],
  ["/workspace/%00", ["%00"]],
  ["/workspace/a\\b", ["a\\b"]],
  ["/workspace/..\\..", ["..\\.."]],
  ["/workspace/~", ["~"]],
  ["/workspace/$HOME", ["$HOME"]],
  ["/workspace/*", ["*"]],
  ["/workspace/a?b#c", ["a?b#c"]],
  ["/workspace/-rf", ["-rf"]],
  ["/workspace/con", ["con"]],
  ["/workspace/a:b", ["a:b"]],
  ["/workspace/é", ["Ã©"]],
  ["/workspace/日", ["æ\u0097¥"]],
  ["/workspace/\u202e", ["â\u0080®"]],
  ["/workspace/\ufeff", ["ï»¿"]],
  ["/workspace/．．", ["ï¼\u008eï¼\u008e"]],
  ["/workspace/∕", ["â\u0088\u0095"]],
  ["/workspace/workspace", ["workspace"]],
  ["/workspace/proc/self/root", ["proc", "self", "root"]],
  [`/workspace/${"n".repeat(255)}`, ["n".repeat(255)]],
  [`/workspace${"/a".repeat(2043)}`, Array(2043).fill("a")]
]

const invalid: ReadonlyArray<unknown> = [
  "",
  "/",
  "//",
  ".",
  "..",
  "workspace",
  "workspace/a",
  "./workspace/a",
  "../workspace/a",
  "//workspace/a",
  "/./workspace/a",
  "/../workspace/a",
  "/Workspace/a",
  "/WORKSPACE",
  "/workspaces",
  "/workspaces/a",
  "/workspace2/a",
  "/workspace ",
  " /workspace",
  "/ workspace",
  "/workspace\0",
  "/workspac\u0065\u0301/a",
  "/ｗorkspace/a",
  "/workspace/",
  "/workspace//",
  "/workspace//a",
  "/workspace/a/",
  "/workspace/a//b",
  "/workspace/.",
  "/workspace/..",
  "/workspace/./a",
  "/workspace/../etc/passwd",
  "/workspace/a/.",
  "/workspace/a/..",
  "/workspace/a/../../etc/passwd",
  "/workspace/a\0",
  "/workspace/a\0/../../etc/passwd",
  "/workspace/\0",
  "/workspace\\a",
  "\\workspace\\a",
  "C:\\workspace",
  "file:///workspace/a",
  "/etc/passwd",
  "/proc/self/root/workspace/a",
  "%2Fworkspace%2Fa",
  "/workspace%2Fa",
  "/workspace/\ud800",
  "/workspace/\udfff/a",
  `/workspace/${"a".repeat(4096)}`,
  `/workspace${"/a".repeat(2044)}`,
  null,
  undefined,
  7,
  {},
  ["/workspace/a"]
]

describe("path spellings", () => {
  it.each(valid)("%j is a file path", (path, segments) => {
    expect(parsePath(path)).toEqual(segments)
  })

  it.each(invalid.map((path) => [path]))("%j is refused", async (path) => {
    expect(await codeOf(() => parsePath(path))).toBe("INVALID_PATH")
  })

  it("4096 characters are allowed, 4097 are not, for all bytes", async () => {
    const wide = "😀".repeat(4096 - "/workspace/".length)
    expect(await codeOf(() => parsePath(`/workspace/${wide}`))).toBe("ok")
    expect(await codeOf(() => parsePath(`/workspace/${wide}a`))).toBe("INVALID_PATH")
  })
})
