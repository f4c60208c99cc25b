import { execFileSync } from "node:child_process"
import fs from "node:fs"
import { Worker } from "node:worker_threads"
import { describe, expect, it } from "vitest"
import { makeDirectory } from "../../../src/agent/files/directory.ts"
import { Editor } from "../../../src/agent/files/edit.ts"
import { openRange } from "../../../src/agent/files/read.ts"
import { removePath } from "../../../src/agent/files/remove.ts"
import { renamePath } from "../../../src/agent/files/rename.ts"
import { Staging } from "../../../src/agent/files/Staging.ts"
import { Workspace } from "../../../src/agent/files/Workspace.ts"
import { writePath } from "../../../src/agent/files/write.ts"
import { codeOf, pieces, TestWorkspace } from "../../support/files/TestWorkspace.ts"

const W = "/workspace"

/** A thread that repeats `code` (with `fs` and `root`) as fast as it can until it is disposed. Errors of single calls are part of the race. */
const adversary = (root: string, code: string): AsyncDisposable => {
  const stop = new SharedArrayBuffer(4)
  const worker = new Worker(
    `const fs = require("node:fs")
     const { root, stop } = require("node:worker_threads").workerData
     const flag = new Int32Array(stop)
     const attempt = (act) => { try { act() } catch {} }
     while (Atomics.load(flag, 0) === 0) { ${code} }`,
    { eval: true, workerData: { root, stop } }
  )
  const gone = new Promise<void>((resolve, reject) => {
    worker.once("error", reject)
    worker.once("exit", () => resolve())
  })
  return {
    [Symbol.asyncDispose]: async () => {
      Atomics.store(new Int32Array(stop), 0, 1)
      await gone
    }
  }
}

/** Repeats until every wanted outcome was seen often, so that the race is known to have run; 15 s at most. */
const race = async (
  wanted: ReadonlyArray<string>,
  attempt: () => Promise<string>
): Promise<ReadonlyMap<string, number>> => {
  const seen = new Map<string, number>()
  const until = performance.now() + 15_000
  while (performance.now() < until) {
    for (let turn = 0; turn < 20; turn += 1) {
      const outcome = await attempt()
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
    }
    if (wanted.every((outcome) => (seen.get(outcome) ?? 0) >= 50)) break
    await new Promise(setImmediate)
  }
  for (const outcome of wanted) expect(seen.get(outcome) ?? 0, `${outcome} in ${[...seen.keys()]}`).toBeGreaterThan(0)
  return seen
}

const contentAt = async (at: TestWorkspace, path: string): Promise<string> => {
  let range: Awaited<ReturnType<typeof openRange>> | undefined
  const code = await codeOf(async () => {
    range = await openRange(at.workspace, path, { offset: 0, maxBytes: 100, version: null })
  })
  if (range === undefined) return code
  using file = range.file
  return fs.readFileSync(file.descriptor, "utf8")
}

/** A directory that is itself, a link out of /workspace, and nothing, in rotation. */
const swapDirectory = `
  attempt(() => fs.renameSync(root + "/a", root + "/real"))
  attempt(() => fs.renameSync(root + "/link", root + "/a"))
  for (let i = 0; i < 300; i++);
  attempt(() => fs.renameSync(root + "/a", root + "/link"))
  attempt(() => fs.renameSync(root + "/real", root + "/a"))
  for (let i = 0; i < 300; i++);`

describe("swap races", { timeout: 240_000 }, () => {
  it("a directory swapped for a link out is never read through", async () => {
    using at = new TestWorkspace()
    at.put("a/secret", "inside")
    fs.symlinkSync("../outside", at.on("link"))
    {
      await using _ = adversary(at.root, swapDirectory)
      const seen = await race(["inside", "INVALID_PATH"], () => contentAt(at, `${W}/a/secret`))
      for (const outcome of seen.keys()) expect(["inside", "INVALID_PATH", "NOT_FOUND"]).toContain(outcome)
    }
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("a file swapped for a link out is never read or written through", async () => {
    using at = new TestWorkspace()
    at.put("f", "inside")
    {
      await using _ = adversary(
        at.root,
        `attempt(() => { fs.symlinkSync("../outside/secret", root + "/l"); fs.renameSync(root + "/l", root + "/f") })
         for (let i = 0; i < 300; i++);
         attempt(() => { fs.writeFileSync(root + "/n", "inside"); fs.renameSync(root + "/n", root + "/f") })
         for (let i = 0; i < 300; i++);`
      )
      const seen = await race(["inside", "INVALID_PATH"], () => contentAt(at, `${W}/f`))
      for (const outcome of seen.keys()) expect(["inside", "INVALID_PATH", "NOT_FOUND"]).toContain(outcome)
      const written = await race(["ok", "INVALID_PATH"], () =>
        codeOf(() => writePath(at.workspace, at.staging, `${W}/f`, pieces("inside")))
      )
      expect([...written.keys()].filter((code) => code !== "ok" && code !== "INVALID_PATH")).toEqual([])
    }
    expect(fs.readFileSync(`${at.outside}/secret`, "utf8")).toBe("secret")
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })

  it("nothing is made, moved, listed or removed through a directory that is swapped for a link out", async () => {
    using at = new TestWorkspace()
    at.put("a/secret", "inside")
    at.put("source", "source")
    fs.symlinkSync("../outside", at.on("link"))
    let turn = 0
    {
      await using _ = adversary(at.root, swapDirectory)
      await race(["ok", "INVALID_PATH"], () =>
        codeOf(() => writePath(at.workspace, at.staging, `${W}/a/new`, pieces("x")))
      )
      await race(["ok", "INVALID_PATH"], () =>
        codeOf(() => makeDirectory(at.workspace, `${W}/a/d${turn++}`, { recursive: false }))
      )
      await race(["ok", "INVALID_PATH"], () =>
        codeOf(() => {
          at.put("source", "source")
          renamePath(at.workspace, at.staging, `${W}/source`, `${W}/a/moved`, { overwrite: true })
        })
      )
      await race(["ok", "INVALID_PATH"], () =>
        codeOf(async () => {
          makeDirectory(at.workspace, `${W}/a/gone`, { recursive: false })
          for (;;) {
            const code = await codeOf(() => removePath(at.workspace, `${W}/a/gone`, { recursive: true }))
            if (code === "ok") return
          }
        })
      )
      await race(["ok", "INVALID_PATH"], () =>
        codeOf(async () => {
          const { entries } = await at.listings.list(`${W}/a`, { pageSize: 1000, after: null })
          if (entries.length === 1 && entries[0]!.name === "secret") throw new Error("the outside was listed")
        })
      )
      await race(["NOT_FOUND", "INVALID_PATH"], () =>
        codeOf(() => removePath(at.workspace, `${W}/a/none/x`, { recursive: true }))
      )
      // May make another `a` in a moment without one, which ends the swapping: so it comes last.
      await race(["ok"], () => codeOf(() => makeDirectory(at.workspace, `${W}/a/n${turn++}/e`, { recursive: true })))
    }
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
    expect(fs.readFileSync(`${at.outside}/secret`, "utf8")).toBe("secret")
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("`..` in a link does not climb out of a directory that is moved up meanwhile", async () => {
    using at = new TestWorkspace()
    at.put("deep/er/d/x", "x")
    // From deep/er/d this is /workspace; from a d that was moved to /workspace it is the folder above.
    fs.symlinkSync("../../../outside/secret", at.on("deep/er/d/up"))
    fs.symlinkSync("../../../f", at.on("deep/er/d/in"))
    at.put("f", "inside")
    {
      await using _ = adversary(
        at.root,
        `attempt(() => fs.renameSync(root + "/deep/er/d", root + "/d"))
         attempt(() => fs.renameSync(root + "/d", root + "/deep/er/d"))`
      )
      for (const path of ["deep/er/d/up", "d/up"]) {
        await race(["NOT_FOUND"], async () => {
          const outcome = await contentAt(at, `${W}/${path}`)
          expect(outcome).not.toBe("secret")
          return outcome
        })
      }
      const seen = await race(["inside"], () => contentAt(at, `${W}/deep/er/d/in`))
      for (const outcome of seen.keys()) expect(["inside", "NOT_FOUND", "INVALID_PATH"]).toContain(outcome)
    }
  })

  it("a name that changes between a file and a directory is removed, or not found", async () => {
    using at = new TestWorkspace()
    await using _ = adversary(
      at.root,
      `attempt(() => fs.mkdirSync(root + "/s")); attempt(() => fs.rmdirSync(root + "/s"));
       attempt(() => fs.writeFileSync(root + "/s", "")); attempt(() => fs.unlinkSync(root + "/s"))`
    )
    const seen = await race(["ok", "NOT_FOUND"], () =>
      codeOf(() => removePath(at.workspace, `${W}/s`, { recursive: Math.random() < 0.5 }))
    )
    expect([...seen.keys()].toSorted()).toEqual(["NOT_FOUND", "ok"])
  })

  it("the removal of a tree that is moved about meanwhile removes nothing else", async () => {
    using at = new TestWorkspace()
    at.put("keep/k", "kept")
    // Filled where the adversary does not reach, so that the test itself follows none of its links.
    const refill = () => {
      for (let index = 0; index < 30; index += 1) at.put(`fresh/a/b/c/${index}`, "x")
      if (!fs.existsSync(at.on("fresh/out"))) fs.symlinkSync("../../outside", at.on("fresh/out"))
      fs.renameSync(at.on("fresh"), at.on("top"))
    }
    {
      await using _ = adversary(
        at.root,
        `attempt(() => fs.renameSync(root + "/top/a/b/c", root + "/keep/c"))
         attempt(() => fs.renameSync(root + "/top/a/b", root + "/top/b"))
         attempt(() => fs.symlinkSync(root + "/../outside", root + "/top/a/b"))
         attempt(() => fs.renameSync(root + "/keep/c", root + "/top/c"))`
      )
      const seen = await race(["ok"], async () => {
        try {
          refill()
        } catch {
          // The adversary was quicker.
        }
        return await codeOf(() => removePath(at.workspace, `${W}/top`, { recursive: true }))
      })
      for (const outcome of seen.keys()) expect(["ok", "NOT_FOUND", "DIRECTORY_NOT_EMPTY"]).toContain(outcome)
    }
    expect(fs.readFileSync(at.on("keep/k"), "utf8")).toBe("kept")
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
    expect(at.leakedDescriptors()).toBe(0)
  })
})

describe("a rename without overwrite", { timeout: 240_000 }, () => {
  it("never replaces a destination that appears meanwhile, and loses no source that is replaced meanwhile", async () => {
    using at = new TestWorkspace()
    {
      // Another process in the Sandbox keeps claiming the destination exclusively.
      await using _ = adversary(at.root, `attempt(() => fs.writeFileSync(root + "/to", "theirs", { flag: "wx" }))`)
      const seen = await race(["ok", "DESTINATION_EXISTS"], async () => {
        at.put("from", "ours")
        const code = await codeOf(() =>
          renamePath(at.workspace, at.staging, `${W}/from`, `${W}/to`, { overwrite: false })
        )
        const content = fs.readFileSync(at.on("to"), "utf8")
        expect(content).toMatch(code === "ok" ? /^ours$/ : /^(theirs|)$/)
        expect(fs.existsSync(at.on("from"))).toBe(code !== "ok")
        fs.unlinkSync(at.on("to"))
        return code
      })
      expect([...seen.keys()].toSorted()).toEqual(["DESTINATION_EXISTS", "ok"])
    }
    expect(at.tree().filter((line) => line.startsWith(".atoll"))).toEqual([])
  })
})

describe("a full volume", () => {
  it("refuses with STORAGE_FULL and changes nothing", async ({ skip }) => {
    using at = new TestWorkspace()
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", at.root], { stdio: "ignore" })
    } catch {
      skip("mounting is not permitted here")
    }
    try {
      // The present directory, with the small file system on it.
      using workspace = new Workspace(at.root)
      const staging = new Staging(workspace)
      const editor = new Editor(workspace, staging)
      at.put("file", "old")
      const before = at.tree()
      const big = Buffer.alloc(2 * 1024 * 1024)
      expect(await codeOf(() => writePath(workspace, staging, `${W}/file`, pieces(big)))).toBe("STORAGE_FULL")
      expect(await codeOf(() => writePath(workspace, staging, `${W}/new`, pieces(big)))).toBe("STORAGE_FULL")
      fs.writeFileSync(at.on("text"), "x".repeat(600_000))
      const { createHash } = await import("node:crypto")
      const expectedSha256 = createHash("sha256").update("x".repeat(600_000)).digest("hex")
      expect(
        await codeOf(() => editor.edit(`${W}/text`, { expectedSha256, oldText: "x", newText: "y", replaceAll: true }))
      ).toBe("STORAGE_FULL")
      expect(fs.readFileSync(at.on("text"), "utf8")).toBe("x".repeat(600_000))
      fs.unlinkSync(at.on("text"))
      expect(at.tree()).toEqual(before)
      expect(await codeOf(() => writePath(workspace, staging, `${W}/file`, pieces("fits")))).toBe("ok")
    } finally {
      execFileSync("umount", [at.root])
    }
  })
})
