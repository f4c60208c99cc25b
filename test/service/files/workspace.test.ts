import { execFileSync } from "node:child_process"
import fs from "node:fs"
import net from "node:net"
import { describe, expect, it } from "vitest"
import { makeDirectory } from "../../../src/agent/files/directory.ts"
import { openRange } from "../../../src/agent/files/read.ts"
import { statPath } from "../../../src/agent/files/stat.ts"
import { writePath } from "../../../src/agent/files/write.ts"
import { codeOf, pieces, TestWorkspace } from "../../support/files/TestWorkspace.ts"

const all = { offset: 0, maxBytes: 1 << 20, version: null }

const contentAt = async (at: TestWorkspace, path: string): Promise<string> => {
  const range = await openRange(at.workspace, path, all)
  using file = range.file
  return fs.readFileSync(file.descriptor, "utf8")
}

/**
 * The result of reading /workspace/link, by the link's target; /workspace holds file, dir/file and dir/up -> ../file.
 */
const targets: ReadonlyArray<readonly [target: string, outcome: string]> = [
  ["file", "file"],
  ["./file", "file"],
  [".//.//file", "file"],
  ["dir/file", "dir/file"],
  ["dir/../file", "file"],
  ["dir/up", "file"],
  ["/workspace/file", "file"],
  ["//workspace///dir/./file", "dir/file"],
  ["/./workspace/file", "file"],
  ["/workspace/../workspace/file", "file"],
  ["../workspace/file", "file"],
  ["../../../../workspace/file", "file"],
  ["dir/../../workspace/dir/file", "dir/file"],
  ["file/", "NOT_A_DIRECTORY"],
  ["file/.", "NOT_A_DIRECTORY"],
  ["file/..", "NOT_A_DIRECTORY"],
  ["dir", "IS_A_DIRECTORY"],
  [".", "IS_A_DIRECTORY"],
  ["/workspace", "IS_A_DIRECTORY"],
  ["dir/..", "IS_A_DIRECTORY"],
  ["missing", "NOT_FOUND"],
  ["missing/../file", "NOT_FOUND"],
  ["..", "INVALID_PATH"],
  ["../../..", "INVALID_PATH"],
  ["/", "INVALID_PATH"],
  ["../outside/secret", "INVALID_PATH"],
  ["dir/../../outside/secret", "INVALID_PATH"],
  ["/etc/passwd", "INVALID_PATH"],
  ["/proc/self/root/etc/passwd", "INVALID_PATH"],
  ["/proc/self/cwd", "INVALID_PATH"],
  ["/workspace/../etc/passwd", "INVALID_PATH"],
  ["/workspaces/file", "INVALID_PATH"],
  ["../workspac", "INVALID_PATH"],
  ["link", "INVALID_PATH"],
  ["dir/back", "INVALID_PATH"],
  [".atoll-staging/x", "INVALID_PATH"]
]

describe("symbolic links", () => {
  it.each(targets)("a link to %s reads %s", async (target, outcome) => {
    using at = new TestWorkspace()
    at.put("file", "file")
    at.put("dir/file", "dir/file")
    fs.symlinkSync("../file", at.on("dir/up"))
    fs.symlinkSync("../link", at.on("dir/back"))
    fs.symlinkSync(target, at.on("link"))
    const got = await contentAt(at, "/workspace/link").catch((cause) => cause.code)
    expect(got).toBe(outcome)
    expect(statPath(at.workspace, "/workspace/link").type).toBe("symlink")
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("links in a path are followed, and refused when they leave /workspace", async () => {
    using at = new TestWorkspace()
    at.put("dir/file", "dir/file")
    fs.symlinkSync("dir", at.on("in"))
    fs.symlinkSync(at.outside, at.on("out"))
    fs.symlinkSync("../outside", at.on("out2"))
    expect(await contentAt(at, "/workspace/in/file")).toBe("dir/file")
    expect(statPath(at.workspace, "/workspace/in/file").sizeBytes).toBe(8)
    for (const out of ["out", "out2"]) {
      expect(await codeOf(() => contentAt(at, `/workspace/${out}/secret`))).toBe("INVALID_PATH")
      expect(await codeOf(() => statPath(at.workspace, `/workspace/${out}/secret`))).toBe("INVALID_PATH")
      expect(await codeOf(() => writePath(at.workspace, at.staging, `/workspace/${out}/new`, pieces("x")))).toBe(
        "INVALID_PATH"
      )
      expect(await codeOf(() => makeDirectory(at.workspace, `/workspace/${out}/new/deep`, { recursive: true }))).toBe(
        "INVALID_PATH"
      )
    }
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })

  it("a chain of 40 links is followed, one of 41 is not", async () => {
    using at = new TestWorkspace()
    at.put("0", "end")
    for (let link = 1; link <= 41; link += 1) fs.symlinkSync(String(link - 1), at.on(String(link)))
    expect(await contentAt(at, "/workspace/40")).toBe("end")
    expect(await codeOf(() => contentAt(at, "/workspace/41"))).toBe("INVALID_PATH")
  })

  it("resolving a path that doubles with every link ends soon", async () => {
    using at = new TestWorkspace()
    fs.mkdirSync(at.on("d"))
    fs.symlinkSync(`${"d/../".repeat(700)}d`, at.on("l0"))
    for (let link = 1; link < 12; link += 1) fs.symlinkSync(`l${link - 1}/../l${link - 1}`, at.on(`l${link}`))
    const started = performance.now()
    expect(await codeOf(() => contentAt(at, "/workspace/l11/x"))).toBe("INVALID_PATH")
    expect(performance.now() - started).toBeLessThan(30_000)
  })

  it("a write goes through a link to its target, even if the target does not exist yet", async () => {
    using at = new TestWorkspace()
    at.put("dir/target", "old")
    fs.symlinkSync("dir/target", at.on("link"))
    fs.symlinkSync("dir/new", at.on("dangling"))
    await writePath(at.workspace, at.staging, "/workspace/link", pieces("new"))
    await writePath(at.workspace, at.staging, "/workspace/dangling", pieces("made"))
    expect(at.tree()).toEqual(["dangling -> dir/new", "dir/", "dir/new: made", "dir/target: new", "link -> dir/target"])
  })
})

describe("special files and names", () => {
  it("a fifo, a socket and a device are answered immediately", async () => {
    using at = new TestWorkspace()
    execFileSync("mkfifo", [at.on("fifo")])
    const server = net.createServer().listen(at.on("socket"))
    await new Promise((resolve) => server.once("listening", resolve))
    const special = ["fifo", "socket"]
    try {
      execFileSync("mknod", [at.on("device"), "c", "1", "3"], { stdio: "ignore" })
      special.push("device")
    } catch {
      // Not permitted without privilege: the fifo and the socket stand for it.
    }
    try {
      for (const name of special) {
        const started = performance.now()
        expect(statPath(at.workspace, `/workspace/${name}`).type).toBe("other")
        expect(await codeOf(() => contentAt(at, `/workspace/${name}`))).toBe("INVALID_PATH")
        expect(await codeOf(() => writePath(at.workspace, at.staging, `/workspace/${name}`, pieces("x")))).toBe(
          "INVALID_PATH"
        )
        expect(
          await codeOf(() =>
            at.editor.edit(`/workspace/${name}`, { expectedSha256: "", oldText: "a", newText: "b", replaceAll: false })
          )
        ).toBe("INVALID_PATH")
        expect(await codeOf(() => at.listings.list(`/workspace/${name}`, { pageSize: 10, after: null }))).toBe(
          "NOT_A_DIRECTORY"
        )
        expect(performance.now() - started).toBeLessThan(30_000)
      }
    } finally {
      server.close()
    }
    expect(at.leakedDescriptors()).toBe(0)
  })

  it("names that are not UTF-8 are listed, addressed and removed like others", async () => {
    using at = new TestWorkspace()
    fs.writeFileSync(Buffer.concat([Buffer.from(`${at.root}/`), Buffer.from([0x63, 0xe9, 0xff])]), "latin")
    const { entries } = await at.listings.list("/workspace", { pageSize: 10, after: null })
    expect(entries.map((entry) => entry.name)).toEqual(["c\u{10fee9}\u{10feff}"])
    expect(await contentAt(at, `/workspace/${entries[0]!.name}`)).toBe("latin")
    expect(statPath(at.workspace, `/workspace/${entries[0]!.name}`).name).toBe(entries[0]!.name)
  })

  it("a path below a file is NOT_A_DIRECTORY, a name over 255 bytes is refused, the staging folder cannot be named", async () => {
    using at = new TestWorkspace()
    at.put("file", "x")
    expect(await codeOf(() => statPath(at.workspace, "/workspace/file/x"))).toBe("NOT_A_DIRECTORY")
    expect(await codeOf(() => statPath(at.workspace, `/workspace/${"é".repeat(128)}`))).toBe("INVALID_PATH")
    expect(await codeOf(() => statPath(at.workspace, "/workspace/.atoll-staging"))).toBe("INVALID_PATH")
    expect(await codeOf(() => writePath(at.workspace, at.staging, "/workspace/.atoll-staging/x", pieces("x")))).toBe(
      "INVALID_PATH"
    )
    expect(statPath(at.workspace, "/workspace").name).toBe("workspace")
  })
})

describe("the file system below /workspace", () => {
  it("another mount below /workspace is not entered", async ({ skip }) => {
    using at = new TestWorkspace()
    fs.mkdirSync(at.on("mount"))
    try {
      execFileSync("mount", ["--bind", at.outside, at.on("mount")], { stdio: "ignore" })
    } catch {
      skip("mounting is not permitted here")
    }
    try {
      expect(await codeOf(() => contentAt(at, "/workspace/mount/secret"))).toBe("INVALID_PATH")
      expect(await codeOf(() => statPath(at.workspace, "/workspace/mount/secret"))).toBe("INVALID_PATH")
      expect(await codeOf(() => at.listings.list("/workspace/mount", { pageSize: 10, after: null }))).toBe(
        "INVALID_PATH"
      )
      expect(await codeOf(() => writePath(at.workspace, at.staging, "/workspace/mount/new", pieces("x")))).toBe(
        "INVALID_PATH"
      )
    } finally {
      execFileSync("umount", [at.on("mount")])
    }
    expect(fs.readdirSync(at.outside)).toEqual(["secret"])
  })

  it("directories are made with all their parents in one call, 2000 deep", async () => {
    using at = new TestWorkspace()
    const deep = `/workspace${"/d".repeat(2000)}`
    expect(await codeOf(() => makeDirectory(at.workspace, deep, { recursive: false }))).toBe("NOT_FOUND")
    const started = performance.now()
    makeDirectory(at.workspace, deep, { recursive: true })
    makeDirectory(at.workspace, deep, { recursive: true })
    expect(performance.now() - started).toBeLessThan(30_000)
    expect(await codeOf(() => makeDirectory(at.workspace, deep, { recursive: false }))).toBe("ALREADY_EXISTS")
    await writePath(at.workspace, at.staging, `${deep}/f`, pieces("deep"))
    expect(await contentAt(at, `${deep}/f`)).toBe("deep")
    expect(await codeOf(() => makeDirectory(at.workspace, `${deep}/f`, { recursive: true }))).toBe("ALREADY_EXISTS")
    expect(await codeOf(() => makeDirectory(at.workspace, `${deep}/f/g`, { recursive: true }))).toBe("NOT_A_DIRECTORY")
    expect(await codeOf(() => makeDirectory(at.workspace, "/workspace", { recursive: false }))).toBe("ALREADY_EXISTS")
    makeDirectory(at.workspace, "/workspace", { recursive: true })
    expect(at.leakedDescriptors()).toBe(0)
  })
})
