import { createHash } from "node:crypto"
import fs from "node:fs"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { makeDirectory } from "../../../src/agent/files/directory.ts"
import type { Continuation, Page } from "../../../src/agent/files/Listings.ts"
import { openRange } from "../../../src/agent/files/read.ts"
import { removePath } from "../../../src/agent/files/remove.ts"
import { renamePath } from "../../../src/agent/files/rename.ts"
import { statPath } from "../../../src/agent/files/stat.ts"
import { writePath } from "../../../src/agent/files/write.ts"
import { FileModel } from "../../support/files/FileModel.ts"
import { codeOf, pieces, TestWorkspace } from "../../support/files/TestWorkspace.ts"

type Call =
  | { readonly call: "stat" | "read" | "list"; readonly path: string }
  | { readonly call: "write"; readonly path: string; readonly content: string }
  | {
      readonly call: "edit"
      readonly path: string
      readonly oldText: string
      readonly newText: string
      readonly all: boolean
    }
  | { readonly call: "directory" | "remove"; readonly path: string; readonly recursive: boolean }
  | { readonly call: "rename"; readonly path: string; readonly to: string; readonly overwrite: boolean }

/**
 * Few names, so that calls collide. Relative to an actor's own directory; "" is that directory, which is neither
 * removed nor moved.
 */
const name = fc.constantFrom("a", "b", "ü")
const below = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join("/")}`)
const anywhere = fc.oneof({ weight: 9, arbitrary: below }, { weight: 1, arbitrary: fc.constant("") })
const word = fc.constantFrom("x", "xy", "xyx", "ü€", "")
const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({ call: fc.constantFrom("stat" as const, "read" as const, "list" as const), path: anywhere }),
  fc.record({ call: fc.constant("write" as const), path: anywhere, content: word }),
  fc.record({
    call: fc.constant("edit" as const),
    path: anywhere,
    oldText: fc.constantFrom("x", "y", "ü"),
    newText: word,
    all: fc.boolean()
  }),
  fc.record({ call: fc.constant("directory" as const), path: below, recursive: fc.boolean() }),
  fc.record({ call: fc.constant("remove" as const), path: below, recursive: fc.boolean() }),
  fc.record({ call: fc.constant("rename" as const), path: below, to: below, overwrite: fc.boolean() })
)

const expected = (model: FileModel, root: string, it: Call): string => {
  const path = root + it.path
  switch (it.call) {
    case "stat":
      return model.stat(path)
    case "read":
      return model.read(path)
    case "list":
      return model.list(path)
    case "write":
      return model.write(path, it.content)
    case "edit":
      return model.edit(path, it.oldText, it.newText, it.all)
    case "directory":
      return model.makeDirectory(path, it.recursive)
    case "remove":
      return model.remove(path, it.recursive)
    case "rename":
      return model.rename(path, root + it.to, it.overwrite)
  }
}

const readAll = async (at: TestWorkspace, path: string): Promise<string> => {
  const range = await openRange(at.workspace, path, { offset: 0, maxBytes: 1000, version: null })
  using file = range.file
  return fs.readFileSync(file.descriptor, "utf8")
}

const listAll = async (at: TestWorkspace, path: string): Promise<string> => {
  const names: Array<string> = []
  let after: Continuation | null = null
  do {
    const page: Page = await at.listings.list(path, { pageSize: 2, after })
    names.push(...page.entries.map((entry) => entry.name))
    after = page.next
  } while (after !== null)
  return names.toSorted().join()
}

/** The agent's answer, in the model's terms. */
const actual = async (at: TestWorkspace, root: string, it: Call): Promise<string> => {
  const path = root + it.path
  let answer = "ok"
  const code = await codeOf(async () => {
    switch (it.call) {
      case "stat":
        answer = statPath(at.workspace, path).type
        break
      case "read":
        answer = await readAll(at, path)
        break
      case "list":
        answer = await listAll(at, path)
        break
      case "write":
        await writePath(at.workspace, at.staging, path, pieces(it.content))
        break
      case "edit": {
        const expectedSha256 = createHash("sha256")
          .update(await readAll(at, path))
          .digest("hex")
        await at.editor.edit(path, { expectedSha256, oldText: it.oldText, newText: it.newText, replaceAll: it.all })
        break
      }
      case "directory":
        makeDirectory(at.workspace, path, { recursive: it.recursive })
        break
      case "remove":
        await removePath(at.workspace, path, { recursive: it.recursive })
        break
      case "rename":
        renamePath(at.workspace, at.staging, path, root + it.to, { overwrite: it.overwrite })
    }
  })
  return code === "ok" ? answer : code
}

/** The tree shows names as text and content byte by byte. */
const withRawContent = (line: string): string =>
  line.replace(/: (.*)$/s, (_, content: string) => `: ${Buffer.from(content, "utf8").toString("latin1")}`)

describe("random calls against a model", () => {
  it("one actor: every answer and the whole tree are the model's", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 10, maxLength: 60, size: "max" }), async (calls) => {
        using at = new TestWorkspace()
        const model = new FileModel("/workspace")
        for (const one of calls) {
          expect(await actual(at, "/workspace", one), JSON.stringify(one)).toBe(expected(model, "/workspace", one))
        }
        expect(at.tree()).toEqual(model.tree().map(withRawContent))
        expect(at.leakedDescriptors()).toBe(0)
      }),
      { numRuns: 120 }
    )
  })

  it("four concurrent actors, each in its own directory: none disturbs another", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(call, { maxLength: 30 }), { minLength: 4, maxLength: 4 }), async (actors) => {
        using at = new TestWorkspace()
        await Promise.all(
          actors.map(async (calls, actor) => {
            const root = `/workspace/${actor}`
            fs.mkdirSync(at.on(String(actor)))
            const model = new FileModel(root)
            for (const one of calls) {
              expect(await actual(at, root, one), JSON.stringify(one)).toBe(expected(model, root, one))
              await new Promise(setImmediate)
            }
          })
        )
        expect(at.leakedDescriptors()).toBe(0)
        expect(fs.existsSync(at.on(".atoll-staging"))).toBe(false)
      }),
      { numRuns: 40 }
    )
  })

  it("four concurrent actors in one directory: every content is one that was written whole, and nothing is left over", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(call, { maxLength: 30 }), { minLength: 4, maxLength: 4 }), async (actors) => {
        using at = new TestWorkspace()
        const wellKnown =
          /^(ok|file|directory|NOT_FOUND|NOT_A_DIRECTORY|IS_A_DIRECTORY|ALREADY_EXISTS|DESTINATION_EXISTS|DIRECTORY_NOT_EMPTY|INVALID_PATH|TEXT_NOT_FOUND|TEXT_AMBIGUOUS|PRECONDITION_FAILED|CURSOR_STALE|[xyü€]*|([abü],?)*)$/
        await Promise.all(
          actors.map(async (calls) => {
            for (const one of calls) {
              expect(await actual(at, "/workspace", one), JSON.stringify(one)).toMatch(wellKnown)
              await new Promise(setImmediate)
            }
          })
        )
        expect(at.leakedDescriptors()).toBe(0)
        expect(fs.existsSync(at.on(".atoll-staging"))).toBe(false)
      }),
      { numRuns: 40 }
    )
  })
})
