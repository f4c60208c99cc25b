import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { describe, expect, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { findByArgument, goneWithin, identify, isAlive, signal } from "../../../../src/host/linux/ProcessIdentity.ts"
import { WrittenProcess } from "../../../../src/host/linux/SandboxRecords.ts"

describe("process identity", () => {
  it("distinguishes a process from another that got its pid, and from one of an earlier boot", () => {
    const own = identify(process.pid)!
    expect(isAlive(own)).toBe(true)
    expect(isAlive({ ...own, startTime: own.startTime - 1 })).toBe(false)
    expect(isAlive({ ...own, bootId: "another" })).toBe(false)
    // Would end this test if it checked the pid alone.
    signal({ ...own, startTime: own.startTime - 1 }, "SIGKILL")
  })

  it("a process that ended is gone, also as a zombie", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" })
    const it = identify(child.pid!)!
    signal(it, "SIGKILL")
    expect(await goneWithin(() => isAlive(it), 10_000)).toBe(true)
    expect(await goneWithin(() => true, 5)).toBe(false)
  })

  it("a process is found by its command line only where it cannot be a Sandbox's", async () => {
    const word = randomUUID()
    const isOwn = (uid: number) => uid === process.getuid!()
    // The word is built inside: unshare's own command line, outside, does not contain it.
    const [first, rest] = [word.slice(0, 8), word.slice(8)]
    const forge = `sh -c "echo up; sleep 60" sh "$1$2"; :`
    const inside = spawn("unshare", ["--user", "--pid", "--fork", "--kill-child", "sh", "-c", forge, "sh", first, rest])
    await once(inside.stdout, "data")
    expect(findByArgument(word, isOwn)).toBeNull()
    inside.kill("SIGKILL")
    const outside = spawn("sh", ["-c", "echo up; sleep 60; :", "sh", word])
    await once(outside.stdout, "data")
    expect(findByArgument(word, isOwn)?.pid).toBe(outside.pid)
    expect(findByArgument(word, (uid) => !isOwn(uid))).toBeNull()
    outside.kill("SIGKILL")
  })

  it("identities that earlier versions stored still match the same process", () => {
    const decode = Schema.decodeUnknownOption(WrittenProcess)
    const it = { pid: 7, startTime: 1234, bootId: "b" }
    const written = [it, { pid: 7, startTime: "1234", bootId: "b" }, { pid: 7, startTime: 1234, hostBootId: "b" }]
    expect(written.map((one) => Option.getOrNull(decode(one)))).toEqual([it, it, it])
    expect(Option.isNone(decode({ pid: 7, startTime: "soon", bootId: "b" }))).toBe(true)
  })
})
