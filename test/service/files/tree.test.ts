import { execFileSync } from "node:child_process"
import fs from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it, vi } from "vitest"
import { makeDirectory } from "../../../src/agent/files/directory.ts"
import { removePath } from "../../../src/agent/files/remove.ts"
import { renamePath } from "../../../src/agent/files/rename.ts"
import { Staging } from "../../../src/agent/files/Staging.ts"
import { codeOf, TestWorkspace } from "../../support/files/TestWorkspace.ts"

const make = () => {
  const at = new TestWorkspace()
  at.put("file", "file")
  at.put("other", "other")
  at.put("full/inside", "inside")
  at.put("deep/a/b/c", "c")
  fs.mkdirSync(at.on("empty"))
  fs.mkdirSync(at.on("empty2"))
  fs.symlinkSync("../outside", at.on("out"))
  fs.symlinkSync("full", at.on("in"))
  fs.symlinkSync("nowhere", at.on("dangling"))
  return at
}

const W = "/workspace"
/** from, to, code without overwrite, code with it. */
const renames: ReadonlyArray<readonly [string, string, string, string]> = [
  ["file", "new", "ok", "ok"],
  ["file", "full/new", "ok", "ok"],
  ["file", "other", "DESTINATION_EXISTS", "ok"],
  ["file", "file", "DESTINATION_EXISTS", "ok"],
  ["file", "dangling", "DESTINATION_EXISTS", "ok"],
  ["file", "in", "DESTINATION_EXISTS", "ok"],
  ["file", "in/new", "ok", "ok"],
  ["file", "empty", "DESTINATION_EXISTS", "IS_A_DIRECTORY"],
  ["file", "full", "DESTINATION_EXISTS", "DIRECTORY_NOT_EMPTY"],
  ["file", "none/new", "NOT_FOUND", "NOT_FOUND"],
  ["file", "other/new", "NOT_A_DIRECTORY", "NOT_A_DIRECTORY"],
  ["file", "out/new", "INVALID_PATH", "INVALID_PATH"],
  ["none", "new", "NOT_FOUND", "NOT_FOUND"],
  ["none", "other", "NOT_FOUND", "NOT_FOUND"],
  ["none/x", "new", "NOT_FOUND", "NOT_FOUND"],
  ["out/secret", "new", "INVALID_PATH", "INVALID_PATH"],
  ["full", "new", "ok", "ok"],
  ["full", "empty", "DESTINATION_EXISTS", "ok"],
  ["empty", "empty2", "DESTINATION_EXISTS", "ok"],
  ["empty", "full", "DESTINATION_EXISTS", "DIRECTORY_NOT_EMPTY"],
  ["full", "file", "DESTINATION_EXISTS", "NOT_A_DIRECTORY"],
  ["full", "dangling", "DESTINATION_EXISTS", "NOT_A_DIRECTORY"],
  ["deep", "deep/a/new", "INVALID_PATH", "INVALID_PATH"],
  ["deep", "deep/new", "INVALID_PATH", "INVALID_PATH"],
  ["deep/a/b", "deep", "DESTINATION_EXISTS", "DIRECTORY_NOT_EMPTY"],
  ["out", "moved", "ok", "ok"],
  ["dangling", "moved", "ok", "ok"],
  ["dangling", "file", "DESTINATION_EXISTS", "ok"]
]

describe("rename", () => {
  it.each(
    renames.flatMap(([from, to, plain, over]) => [[from, to, false, plain] as const, [from, to, true, over] as const])
  )("%s to %s, overwrite %s: %s", async (from, to, overwrite, code) => {
    using at = make()
    const before = at.tree()
    const source = fs.lstatSync(at.on(from), { throwIfNoEntry: false })
    expect(await codeOf(() => renamePath(at.workspace, at.staging, `${W}/${from}`, `${W}/${to}`, { overwrite }))).toBe(
      code
    )
    if (code === "ok") {
      expect(fs.lstatSync(at.on(to)).ino).toBe(source!.ino)
      if (from !== to) expect(fs.lstatSync(at.on(from), { throwIfNoEntry: false })).toBeUndefined()
    } else expect(at.tree()).toEqual(before)
    expect(fs.existsSync(at.on(".atoll-staging"))).toBe(false)
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("/workspace is neither source nor destination", async () => {
    using at = make()
    for (const overwrite of [false, true]) {
      expect(await codeOf(() => renamePath(at.workspace, at.staging, W, `${W}/new`, { overwrite }))).toBe(
        "INVALID_PATH"
      )
      expect(await codeOf(() => renamePath(at.workspace, at.staging, `${W}/file`, W, { overwrite }))).toBe(
        "INVALID_PATH"
      )
    }
  })

  it("a rename works on a volume without room for the staging folder", () => {
    using at = make()
    class FullStaging extends Staging {
      override moveAway(): never {
        throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" })
      }
    }
    renamePath(at.workspace, new FullStaging(at.workspace), `${W}/file`, `${W}/new`, { overwrite: false })
    expect(fs.readFileSync(at.on("new"), "utf8")).toBe("file")
    expect(fs.existsSync(at.on("file"))).toBe(false)
  })

  it("a fifo is renamed without being opened", async () => {
    using at = make()
    execFileSync("mkfifo", [at.on("fifo")])
    renamePath(at.workspace, at.staging, `${W}/fifo`, `${W}/pipe`, { overwrite: false })
    expect(fs.lstatSync(at.on("pipe")).isFIFO()).toBe(true)
    expect(fs.existsSync(at.on("fifo"))).toBe(false)
  })
})

describe("remove", () => {
  const remove = (at: TestWorkspace, path: string, recursive = false) =>
    codeOf(() => removePath(at.workspace, path, { recursive }))

  it("removes files, links themselves and empty directories", async () => {
    using at = make()
    for (const name of ["file", "out", "in", "dangling", "empty"]) expect(await remove(at, `${W}/${name}`)).toBe("ok")
    expect(at.tree().filter((line) => !line.startsWith("deep"))).toEqual([
      "empty2/",
      "full/",
      "full/inside: inside",
      "other: other"
    ])
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })

  it("refuses with the contract's codes", async () => {
    using at = make()
    expect(await remove(at, W)).toBe("INVALID_PATH")
    expect(await remove(at, W, true)).toBe("INVALID_PATH")
    expect(await remove(at, `${W}/full`)).toBe("DIRECTORY_NOT_EMPTY")
    expect(await remove(at, `${W}/none`)).toBe("NOT_FOUND")
    expect(await remove(at, `${W}/none`, true)).toBe("NOT_FOUND")
    expect(await remove(at, `${W}/file/x`)).toBe("NOT_A_DIRECTORY")
    expect(await remove(at, `${W}/out/secret`)).toBe("INVALID_PATH")
    expect(await remove(at, `${W}/out/secret`, true)).toBe("INVALID_PATH")
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })

  it("recursively: removes links in the tree but not their targets, and read-only and unreadable directories", async () => {
    using at = make()
    fs.symlinkSync(at.outside, at.on("deep/a/out"))
    fs.symlinkSync("../full", at.on("deep/in"))
    at.put("deep/locked/x/y", "y")
    fs.chmodSync(at.on("deep/locked/x"), 0o555)
    fs.chmodSync(at.on("deep/locked"), 0o000)
    execFileSync("mkfifo", [at.on("deep/fifo")])
    expect(await remove(at, `${W}/deep`, true)).toBe("ok")
    expect(fs.existsSync(at.on("deep"))).toBe(false)
    expect(fs.readFileSync(at.on("full/inside"), "utf8")).toBe("inside")
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("a failure is reported once nothing of the removal is under way, for the descriptor in its paths is closed then", async () => {
    using at = make()
    for (let file = 0; file < 100; file += 1) at.put(`full/${file}`)
    const { unlink } = fs.promises
    let begun = 0
    let underWay = 0
    const slow = vi.spyOn(fs.promises, "unlink").mockImplementation(async (path) => {
      const isFirst = begun++ === 0
      underWay += 1
      try {
        if (isFirst) throw Object.assign(new Error("EROFS: read-only file system, unlink"), { code: "EROFS" })
        await sleep(5)
        await unlink(path)
      } finally {
        underWay -= 1
      }
    })
    try {
      expect(await remove(at, `${W}/full`, true)).toBe("VOLUME_READ_ONLY")
      expect(begun).toBeGreaterThan(50)
      expect(underWay).toBe(0)
    } finally {
      slow.mockRestore()
    }
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("removes a tree 3000 deep and one 5000 wide with a handful of descriptors", async () => {
    using at = new TestWorkspace()
    const half = "/d".repeat(1500)
    for (const top of ["top", "rest"]) makeDirectory(at.workspace, `${W}/${top}${half}`, { recursive: true })
    at.put("rest/file")
    renamePath(at.workspace, at.staging, `${W}/rest`, `${W}/top${half}/rest`, { overwrite: false })
    for (let file = 0; file < 5000; file += 1) fs.writeFileSync(at.on(`top/${file}`), "")
    for (let dir = 0; dir < 300; dir += 1) at.put(`top/dir${dir}/x`)
    expect(await remove(at, `${W}/top`, true)).toBe("ok")
    expect(at.tree()).toEqual([])
    expect(at.leakedDescriptors()).toBe(0)
  })
})
