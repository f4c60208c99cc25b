/** Archives over HTTP, to and from a real agent, with the tar and curl that people have. */
import { execFile, execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import fs from "node:fs"
import { type IncomingMessage, request } from "node:http"
import os from "node:os"
import path from "node:path"
import { promisify } from "node:util"
import zlib from "node:zlib"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { collectGarbage } from "../../support/collectGarbage.ts"
import { entry, tape, treeOf } from "../../support/files/Tape.ts"
import type { TestAgent } from "../../support/files/TestAgent.ts"
import { runtimeOfAgent, TestService } from "../../support/files/TestService.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"

const run = promisify(execFile)
const W = "/workspace"
const tar = { "content-type": "application/x-tar" }
const gzip = { ...tar, "content-encoding": "gzip" }
const MiB = 1024 * 1024

/** A flush of an archive writes everything else on the same file system too, which this test does not measure. */
const memory = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir()

let agent: TestAgent
let workspace: string
const runtime = runtimeOfAgent((started, base) => {
  agent = started
  workspace = path.join(base, "workspace")
}, memory)

/** Runs a script in the workspace, on every runtime, and returns its output. */
const inside = async ({ send, sandboxId }: TestService["Service"], script: string): Promise<string> => {
  if (!isOverAFleet) return (await run("sh", ["-c", script], { cwd: workspace })).stdout.trim()
  const { status, json } = await send("POST", `/sandboxes/${sandboxId}/execute`, {
    body: { argv: ["sh", "-c", script] }
  })
  expect([status, json.result?.exitCode, json.result?.stderr]).toEqual([200, 0, ""])
  return json.result.stdout.trim()
}

const pidOfAgent = ({ agentPid }: TestService["Service"]) => (isOverAFleet ? agentPid() : agent.pid)
const descriptors = (service: TestService["Service"]) => fs.readdirSync(`/proc/${pidOfAgent(service)}/fd`).length
/** The peak in bytes since the agent began. */
const peakOfAgent = (service: TestService["Service"]) =>
  Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pidOfAgent(service)}/status`, "utf8"))![1]) * 1024
const staged = async (service: TestService["Service"]) =>
  (await inside(service, "if [ -e .atoll-staging ]; then echo staged; fi")) === "staged"
/** Larger than any volume. */
const makeSparse = (service: TestService["Service"], name: string) =>
  inside(service, `mkdir ${name} && truncate -s 1T ${name}/sparse`)

/** The memory of this process, which is the service too, without garbage. */
const used = async () => {
  // The first collection's garbage is released concurrently, and the second one no longer counts it.
  collectGarbage()
  await new Promise((resolve) => setTimeout(resolve, 50))
  collectGarbage()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

/** A request whose body is written piece by piece. */
const uploadTo = (
  { port, key, sandboxId }: TestService["Service"],
  at: string,
  headers: Record<string, string> = tar
) =>
  request({
    port,
    host: "127.0.0.1",
    method: "POST",
    path: `/api/v2/sandboxes/${sandboxId}/files/archive?path=${at}`,
    headers: { authorization: `Bearer ${key}`, ...headers }
  })

const downloadFrom = async (service: TestService["Service"], at: string): Promise<IncomingMessage> => {
  const { port, key, sandboxId } = service
  const asked = request({
    port,
    host: "127.0.0.1",
    path: `/api/v2/sandboxes/${sandboxId}/files/archive?path=${at}`,
    headers: { authorization: `Bearer ${key}` }
  }).end()
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  return answer
}

const room = { ATOLL_VOLUME_BYTES: String(128 * MiB) }

layer(TestService.layer(runtime, room), { excludeTestServices: true, timeout: 240_000 })("archives", (it) => {
  /** A test in a new directory, which does not exist yet. */
  const test = (title: string, body: (service: TestService["Service"], name: string) => Promise<unknown>) =>
    it.effect(
      title,
      () =>
        Effect.flatMap(TestService, (service) =>
          Effect.promise(() => body(service, title.replaceAll(/\W+/g, "-").slice(0, 20)))
        ),
      240_000
    )

  test("are uploaded by tar and curl, and downloaded again", async ({ port, key, sandboxId }, name) => {
    const local = fs.mkdtempSync(path.join(os.tmpdir(), "atoll-archive-"))
    try {
      fs.mkdirSync(path.join(local, "in/sub/empty"), { recursive: true })
      fs.mkdirSync(path.join(local, "out"))
      fs.mkdirSync(path.join(local, "zipped"))
      fs.writeFileSync(path.join(local, "in/große Datei 😀.bin"), Buffer.alloc(12 * MiB, "large"))
      fs.writeFileSync(path.join(local, "in/sub/script"), "#!/bin/sh", { mode: 0o750 })
      fs.symlinkSync("script", path.join(local, "in/sub/link"))
      const url = `http://127.0.0.1:${port}/api/v2/sandboxes/${sandboxId}/files/archive?path=${W}/${name}`
      const curl = `curl --silent --show-error --fail-with-body -H "Authorization: Bearer ${key}"`
      const send = `-X POST -H "Content-Type: application/x-tar"`
      const shell = async (script: string) => (await run("sh", ["-c", script], { cwd: local })).stdout
      const whole = { path: `${W}/${name}`, bytes: 12 * MiB + 9 }
      expect(JSON.parse(await shell(`tar c -C in . | ${curl} ${send} -T - "${url}"`))).toEqual({ ...whole, entries: 6 })
      await shell(`${curl} "${url}" | tar x -C out`)
      expect(treeOf(path.join(local, "out"))).toEqual(treeOf(path.join(local, "in")))
      // With its length, so curl sends Expect first; and compressed.
      await shell(`tar czf in.tar.gz -C in . && tar cf in.tar -C in .`)
      expect(JSON.parse(await shell(`${curl} ${send} -T in.tar "${url}2"`))).toMatchObject({ entries: 6 })
      expect(
        JSON.parse(await shell(`${curl} ${send} -H "Content-Encoding: gzip" -T in.tar.gz "${url}3"`))
      ).toMatchObject({ entries: 6 })
      await shell(`${curl} -H "Accept-Encoding: gzip" "${url}3" | tar xz -C zipped`)
      expect(treeOf(path.join(local, "zipped"))).toEqual(treeOf(path.join(local, "in")))
    } finally {
      fs.rmSync(local, { recursive: true, force: true })
    }
  })

  test("that are refused are answered with the fault and the progress", async (service, name) => {
    const { files } = service
    const at = { path: `${W}/${name}` }
    const send = async (body: Uint8Array, headers: Record<string, string> = tar) => {
      const { status, json } = await files("POST", "/archive", at, { body, headers })
      return { status, code: json.code, details: json.details }
    }
    expect(await send(tape(), { "content-type": "application/gzip" })).toEqual({
      status: 415,
      code: "UNSUPPORTED_MEDIA_TYPE",
      details: { expected: "application/x-tar" }
    })
    expect(await send(tape(), { ...tar, "content-encoding": "br" })).toMatchObject({ status: 415 })
    const incomplete = (details: object) => ({ status: 409, code: "ARCHIVE_INCOMPLETE", details })
    const one = entry({ name: "\xc3\xbc\u0001" }, "content")
    expect(await send(tape(one, entry({ name: "../x" })))).toEqual(
      incomplete({ reason: "unsafe_name", entries: 1, bytes: 7, lastPath: "ü\ufffd" })
    )
    expect(await send(Buffer.concat([one, one]))).toEqual(
      incomplete({ reason: "truncated", entries: 2, bytes: 14, lastPath: "ü\ufffd" })
    )
    // Names of the longest path and of the widest characters fit into the answer.
    const wide = Array.from({ length: 15 }, () => "\xff".repeat(255)).join("/")
    const { details } = await send(Buffer.concat([entry({ name: wide }, "x")]))
    expect(details).toMatchObject({ entries: 1, lastPath: nameOf(wide) })
    expect(await send(Buffer.alloc(0))).toEqual(
      incomplete({ reason: "truncated", entries: 0, bytes: 0, lastPath: null })
    )
    expect(await send(tape(), gzip)).toEqual(incomplete({ reason: "malformed", entries: 0, bytes: 0, lastPath: null }))
    expect(await files("POST", "/archive", at, { body: tape(), headers: tar })).toMatchObject({
      status: 200,
      json: { ...at, entries: 0, bytes: 0 }
    })
    for (const [asked, status] of [
      [`${W}/none`, 404],
      [`${W}/../etc`, 400]
    ] as const) {
      expect((await files("GET", "/archive", { path: asked })).status).toBe(status)
    }
    const none = await files("GET", "/archive", at)
    expect([none.status, none.headers["content-type"], none.headers["vary"]]).toEqual([
      200,
      "application/x-tar",
      "accept-encoding"
    ])
    const zipped = await files("GET", "/archive", at, { headers: { "accept-encoding": "br, gzip" } })
    expect(zipped.headers["content-encoding"]).toBe("gzip")
    expect(zlib.gunzipSync(zipped.bytes).equals(none.bytes)).toBe(true)
    expect(await staged(service)).toBe(false)
  })

  test("far larger than any buffer use flat memory", async (service, name) => {
    const count = 220
    const content = Buffer.alloc(MiB, "0123456789abcdef")
    // Each replaces the one before it, so that little of it is written to the disk.
    const pieces = [entry({ name: "f" }, content), entry({ name: `sparse` }, "x")]
    const before = await used()
    const looked: Array<number> = []
    const asked = uploadTo(service, `${W}/${name}`)
    for (let sent = 0; sent < count; sent += 1) {
      if (!asked.write(pieces[0]!)) await once(asked, "drain")
      if (sent % 100 === 99) looked.push((await used()) - before)
    }
    asked.end(tape(pieces[1]!))
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    expect(JSON.parse(Buffer.concat(await answer.toArray()).toString())).toEqual({
      path: `${W}/${name}`,
      entries: count + 1,
      bytes: count * MiB + 1
    })
    const digest = createHash("sha256").update(content).digest("hex")
    expect(await inside(service, `sha256sum ${name}/f`)).toBe(`${digest}  ${name}/f`)
    await inside(service, `truncate -s ${count}M ${name}/sparse`)
    let bytes = 0
    for await (const piece of await downloadFrom(service, `${W}/${name}`)) {
      const { byteLength } = piece as Buffer
      if (Math.floor(bytes / (100 * MiB)) < Math.floor((bytes + byteLength) / (100 * MiB)))
        looked.push((await used()) - before)
      bytes += byteLength
    }
    expect(bytes).toBe((count + 1) * MiB + 4 * 512)
    expect(looked.length).toBe(4)
    // test/system/clients/gigabyte.test.ts measures a fleet's processes for a gigabyte: a test cannot make them collect
    // their garbage.
    if (!isOverAFleet) expect(Math.max(...looked)).toBeLessThan(96 * MiB)
    expect(peakOfAgent(service)).toBeLessThan(250 * MiB)
  })

  test("that are cut during the upload leave each file old or new, and the next upload completes them", async (service, name) => {
    const { files } = service
    const into = { path: `${W}/${name}` }
    const archive = (age: string) => tape(...["a", "b"].map((file) => entry({ name: file }, age.repeat(MiB))))
    expect((await files("POST", "/archive", into, { body: archive("old"), headers: tar })).status).toBe(200)
    const before = descriptors(service)
    const next = archive("new")
    const asked = uploadTo(service, `${W}/${name}`).on("error", () => {})
    asked.write(next.subarray(0, 5 * MiB))
    const read = (file: string) => inside(service, `head -c 3 ${name}/${file}`)
    await vi.waitUntil(async () => (await read("a")) === "new" && (await staged(service)), 60_000)
    asked.destroy()
    await vi.waitUntil(async () => !(await staged(service)) && descriptors(service) <= before, 60_000)
    expect([await read("a"), await read("b")]).toEqual(["new", "old"])
    expect((await files("POST", "/archive", into, { body: next, headers: tar })).status).toBe(200)
    expect([await read("a"), await read("b")]).toEqual(["new", "new"])
  })

  test("are abandoned when their reader disconnects", async (service, name) => {
    await makeSparse(service, name)
    const before = descriptors(service)
    // More than may be packed concurrently.
    for (let turn = 0; turn < 6; turn += 1) {
      const answer = await downloadFrom(service, `${W}/${name}`)
      await once(answer, "data")
      answer.destroy()
    }
    await vi.waitUntil(() => descriptors(service) <= before, 60_000)
  })

  test("break off when a file is truncated while it is read, and do not look complete", async (service, name) => {
    await makeSparse(service, name)
    const answer = await downloadFrom(service, `${W}/${name}`)
    await once(answer, "data")
    await inside(service, `truncate -s 0 ${name}/sparse`)
    await expect(answer.toArray()).rejects.toMatchObject({ code: "ECONNRESET" })
  })

  test("of ten thousand small files go both ways", async ({ files }, name) => {
    const small = Array.from({ length: 10_000 }, (_, index) =>
      entry({ name: `${index % 100}/${index}` }, `file ${index}`)
    )
    const sent = await files("POST", "/archive", { path: `${W}/${name}` }, { body: tape(...small), headers: tar })
    expect(sent.json).toMatchObject({ entries: 10_000 })
    const { bytes } = await files("GET", "/archive", { path: `${W}/${name}` })
    expect(
      execFileSync("tar", ["t"], { input: bytes, maxBuffer: 16 * MiB })
        .toString()
        .trim()
        .split("\n").length
    ).toBe(10_100)
  })
})

/** At most 1024 characters of a name whose bytes are no UTF-8. */
const nameOf = (bytes: string): string =>
  Array.from(bytes, (byte) => (byte === "/" ? byte : String.fromCodePoint(0x10fe00 + byte.charCodeAt(0))))
    .slice(0, 1024)
    .join("")
