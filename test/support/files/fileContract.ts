/** The contract's file endpoints over HTTP, the same for every runtime. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { connect, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { expect, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import type { Settings } from "../../../src/Config.ts"
import type { Runtime } from "../../../src/runtime/Runtime.ts"
import { entry, tape } from "./Tape.ts"
import { type Answer, TestService } from "./TestService.ts"

const W = "/workspace"
const MiB = 1024 * 1024
const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")
const bytes = (text: string) => Buffer.from(text)
const outcome = ({ status, json }: Answer) => (json?.code === undefined ? status : `${status} ${json.code}`)

export interface ContractOptions {
  readonly timeoutMs?: number
  readonly environment?: Readonly<Record<string, string>>
}

/** Spellings as sent on the wire, in the query. */
const spellings: ReadonlyArray<readonly [query: string, expected: number | string]> = [
  ["path=/workspace", 200],
  ["path=%2Fworkspace", 200],
  ["path=/workspace/sp/plain", 200],
  ["path=/workspace%2Fsp%2Fplain", 200],
  ["path=/%77orkspace/sp/plain", 200],
  ["path=/workspace/sp/with%20space", 200],
  ["path=/workspace/sp/with+space", 200],
  ["path=/workspace/sp/%C3%BC", 200],
  ["path=/workspace/sp/%2e%2e%20", "404 NOT_FOUND"],
  ["path=/workspace/sp/%252e%252e", "404 NOT_FOUND"],
  ["path=/workspace/sp/none", "404 NOT_FOUND"],
  ["path=/workspace/sp/plain/below", "409 NOT_A_DIRECTORY"],
  ["", "400 INVALID_REQUEST"],
  ["path=/workspace&path=/workspace", "400 INVALID_REQUEST"],
  ["path=", "400 INVALID_PATH"],
  ["path=/", "400 INVALID_PATH"],
  ["path=/etc/passwd", "400 INVALID_PATH"],
  ["path=workspace/sp", "400 INVALID_PATH"],
  ["path=/workspace/", "400 INVALID_PATH"],
  ["path=/workspace//sp", "400 INVALID_PATH"],
  ["path=/workspace/./sp", "400 INVALID_PATH"],
  ["path=/workspace/../etc/passwd", "400 INVALID_PATH"],
  ["path=/workspace/%2e%2e/etc/passwd", "400 INVALID_PATH"],
  ["path=/workspace%2f%2e%2e%2fetc%2fpasswd", "400 INVALID_PATH"],
  ["path=/workspace/sp/..", "400 INVALID_PATH"],
  ["path=/workspace/sp%00", "400 INVALID_PATH"],
  ["path=/workspace/sp/plain%00.txt", "400 INVALID_PATH"],
  ["path=/workspace/sp/%ff", "400 INVALID_PATH"],
  ["path=/workspace/sp/%c0%ae%c0%ae", "400 INVALID_PATH"],
  ["path=/workspace/sp/%ed%a0%80", "400 INVALID_PATH"],
  ["path=/workspace/.atoll-staging", "400 INVALID_PATH"],
  ["path=/workspace/sp/plain&other=1", "400 INVALID_REQUEST"],
  ["path=/workspace/sp/plain%20", "404 NOT_FOUND"],
  ["path=/workspace/sp/...", "404 NOT_FOUND"],
  ["path=/workspace/sp/..plain", "404 NOT_FOUND"],
  ["path=/workspace/sp/.plain", "404 NOT_FOUND"],
  ["path=/workspace/sp/%5C..%5Cplain", "404 NOT_FOUND"],
  ["path=/workspace/sp/u%CC%88", "404 NOT_FOUND"],
  ["path=/workspace/sp/%E2%80%AEplain", "404 NOT_FOUND"],
  ["path=/workspace/sp/%F0%9F%98%80", "404 NOT_FOUND"],
  ["path=/workspace/sp/plain%0D%0A", "404 NOT_FOUND"],
  ["path=/workspace/sp/plain;x", "404 NOT_FOUND"],
  ["path=/workspace/sp/plain%3Fx", "404 NOT_FOUND"],
  ["path=/workspace/sp/plain%23x", "404 NOT_FOUND"],
  ["path=/workspace/sp/*", "404 NOT_FOUND"],
  ["path=/workspace/sp/~", "404 NOT_FOUND"],
  ["path=/workspace/sp/$HOME", "404 NOT_FOUND"],
  ["path=/workspace/sp/.atoll-staging", "404 NOT_FOUND"],
  [`path=/workspace/${"a".repeat(255)}`, "404 NOT_FOUND"],
  ["Path=/workspace", "400 INVALID_REQUEST"],
  ["path[]=/workspace", "400 INVALID_REQUEST"],
  ["path=%20/workspace/sp/plain", "400 INVALID_PATH"],
  ["path=/WORKSPACE/sp", "400 INVALID_PATH"],
  ["path=/workspacesp", "400 INVALID_PATH"],
  ["path=/workspace%00", "400 INVALID_PATH"],
  ["path=./workspace/sp", "400 INVALID_PATH"],
  ["path=//workspace/sp", "400 INVALID_PATH"],
  ["path=file:///workspace/sp/plain", "400 INVALID_PATH"],
  ["path=/proc/self/root/workspace/sp", "400 INVALID_PATH"],
  ["path=/workspace%5C..%5Cetc", "400 INVALID_PATH"],
  ["path=/workspace/%2Fsp", "400 INVALID_PATH"],
  ["path=/workspace/../workspace/sp/plain", "400 INVALID_PATH"],
  ["path=/workspace/sp/plain/", "400 INVALID_PATH"],
  ["path=/workspace/sp/plain/.", "400 INVALID_PATH"],
  ["path=/workspace/sp/%", "400 INVALID_PATH"],
  ["path=/workspace/sp/%2", "400 INVALID_PATH"],
  ["path=/workspace/sp/%u002e", "400 INVALID_PATH"],
  ["path=/workspace/.atoll-staging/x", "400 INVALID_PATH"],
  [`path=/workspace/${"a".repeat(256)}`, "400 INVALID_PATH"],
  [`path=/workspace/${"a/".repeat(2100)}a`, "400 INVALID_PATH"]
]

export const fileContract = <E>(
  name: string,
  runtime: Layer.Layer<Runtime, E, Settings>,
  { timeoutMs = 240_000, environment = {} }: ContractOptions = {}
) =>
  layer(TestService.layer(runtime, environment), { excludeTestServices: true, timeout: timeoutMs })(
    `files on ${name}`,
    (it) => {
      /** A test in a separate directory. */
      const test = (title: string, body: (service: TestService["Service"], dir: string) => Promise<unknown>) =>
        it.effect(
          title,
          () =>
            Effect.flatMap(TestService, (service) =>
              Effect.promise(async () => {
                const dir = `${W}/${sha256(title).slice(0, 8)}`
                expect((await service.files("POST", "/directory", { path: dir })).status).toBe(204)
                await body(service, dir)
              })
            ),
          timeoutMs
        )

      test("an archive is unpacked, described and packed again", async ({ files }, dir) => {
        const archive = tape(
          entry({ name: "sub/", type: "5", mode: 0o700 }),
          entry({ name: "sub/run", mode: 0o750, mtime: 1_234_567_890 }, "#!/bin/sh"),
          entry({ name: "link", type: "2", target: "sub/run" }),
          entry({ name: "second", type: "1", target: "sub/run" })
        )
        const tar = { "content-type": "application/x-tar", "content-encoding": "gzip" }
        const sent = await files("POST", "/archive", { path: dir }, { body: gzipSync(archive), headers: tar })
        expect([sent.status, sent.json]).toEqual([200, { path: dir, entries: 4, bytes: 9 }])
        expect((await files("GET", "/stat", { path: `${dir}/second` })).json).toMatchObject({
          type: "file",
          mode: "0750",
          sizeBytes: 9,
          modifiedAt: "2009-02-13T23:31:30.000Z"
        })
        expect((await files("GET", "/stat", { path: `${dir}/sub` })).json).toMatchObject({ mode: "0700" })
        const back = await files("GET", "/archive", { path: dir }, { headers: { "accept-encoding": "gzip" } })
        const listed = execFileSync("tar", ["tvz"], { input: back.bytes }).toString()
        // The first name has the content.
        expect(listed).toMatch(/^-rwxr-x--- (0\/0|root\/root) +9 /m)
        expect(listed).toMatch(/^hrwxr-x---.* link to /m)
        expect(listed).toMatch(/^l.* link -> sub\/run$/m)
        expect((await files("DELETE", "", { path: dir, recursive: "true" })).status).toBe(204)
      })

      test("a file is written, described, read, edited, renamed, listed and removed", async ({ files }, dir) => {
        const path = `${dir}/ü.txt`
        const content = bytes("one two")
        const put = await files("PUT", "/content", { path }, { body: content })
        expect([put.status, put.bytes.byteLength]).toEqual([204, 0])
        const stat = await files("GET", "/stat", { path })
        expect(stat.json).toEqual({
          path,
          name: "ü.txt",
          type: "file",
          sizeBytes: 7,
          mode: "0644",
          modifiedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        })
        const get = await files("GET", "/content", { path })
        expect(get.status).toBe(200)
        expect(get.bytes.equals(content)).toBe(true)
        expect(get.headers).toMatchObject({
          "content-type": "application/octet-stream",
          "content-length": "7",
          "accept-ranges": "bytes",
          "x-service-offset": "0",
          "x-service-next-offset": "7",
          "x-service-file-size": "7",
          "x-service-eof": "true",
          "x-service-next-cursor": expect.stringMatching(/^[\w-]{1,4096}$/)
        })
        const edit = { expectedSha256: sha256(content), oldText: "two", newText: "zwei" }
        const edited = await files("PATCH", "/content", { path }, { body: edit })
        expect(edited.json).toEqual({ path, sizeBytes: 8, sha256: sha256("one zwei"), replacements: 1 })
        const destination = `${dir}/moved`
        expect((await files("POST", "/rename", { path }, { body: { destination } })).status).toBe(204)
        const list = await files("GET", "/list", { path: dir })
        expect(list.json).toEqual({
          path: dir,
          entries: [{ name: "moved", type: "file", sizeBytes: 8, mode: "0644", modifiedAt: expect.any(String) }],
          nextCursor: null
        })
        const removed = await files("DELETE", "", { path: destination })
        expect([removed.status, removed.bytes.byteLength]).toEqual([204, 0])
        expect(outcome(await files("GET", "/stat", { path: destination }))).toBe("404 NOT_FOUND")
      })

      test("every path spelling has one meaning or is refused", async ({ files, send, sandboxId }) => {
        await files("POST", "/directory", { path: `${W}/sp` })
        for (const name of ["plain", "with space", "ü"])
          await files("PUT", "/content", { path: `${W}/sp/${name}` }, { body: bytes("x") })
        for (const [query, expected] of spellings) {
          expect([query, outcome(await send("GET", `/sandboxes/${sandboxId}/files/stat?${query}`))]).toEqual([
            query,
            expected
          ])
        }
      })

      test("ranges join, by offset and by cursor, and a range past the end is empty", async ({ files }, dir) => {
        const path = `${dir}/f`
        const content = Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 256))
        await files("PUT", "/content", { path }, { body: content })
        const parts: Array<Buffer> = []
        let query: Record<string, string> = { path, maxBytes: "300" }
        for (;;) {
          const range = await files("GET", "/content", query)
          expect(range.status).toBe(200)
          parts.push(range.bytes)
          if (range.headers["x-service-eof"] === "true") break
          query = { path, maxBytes: "300", cursor: range.headers["x-service-next-cursor"] as string }
        }
        expect(parts.map((part) => part.byteLength)).toEqual([300, 300, 300, 100])
        expect(Buffer.concat(parts).equals(content)).toBe(true)
        const middle = await files("GET", "/content", { path, offset: "990", maxBytes: "5" })
        expect(middle.bytes.equals(content.subarray(990, 995))).toBe(true)
        for (const offset of ["1000", "5000", "9007199254740991"]) {
          const past = await files("GET", "/content", { path, offset })
          expect([past.status, past.bytes.byteLength]).toEqual([200, 0])
          expect(past.headers).toMatchObject({
            "x-service-eof": "true",
            "x-service-offset": offset,
            "x-service-next-offset": offset,
            "x-service-file-size": "1000"
          })
        }
        for (const bad of [
          { offset: "-1" },
          { offset: "1e3" },
          { offset: "9007199254740992" },
          { maxBytes: "0" },
          { maxBytes: "8388609" },
          { cursor: "" }
        ]) {
          expect(outcome(await files("GET", "/content", { path, ...(bad as Record<string, string>) }))).toBe(
            "400 INVALID_REQUEST"
          )
        }
      })

      test("a cursor is good for its own path, account and kind of call, unchanged, and for nothing else", async (service, dir) => {
        const { files, send } = service
        for (const name of ["f", "g", "h"])
          await files("PUT", "/content", { path: `${dir}/${name}` }, { body: bytes("content") })
        const path = `${dir}/f`
        const first = await files("GET", "/content", { path, maxBytes: "3" })
        const cursor = first.headers["x-service-next-cursor"] as string
        const read = async (query: Record<string, string>) => outcome(await files("GET", "/content", query))
        expect(await read({ path, cursor })).toBe(200)
        expect(await read({ path, cursor, offset: "3" })).toBe(200)
        expect(await read({ path, cursor, offset: "4" })).toBe("400 INVALID_REQUEST")
        expect(await read({ path: `${dir}/g`, cursor })).toBe("400 INVALID_REQUEST")
        const other = await service.newSandbox()
        const elsewhere = await send(
          "GET",
          `/sandboxes/${other}/files/content?${new URLSearchParams({ path, cursor })}`
        )
        expect(outcome(elsewhere)).toBe("400 INVALID_REQUEST")
        await send("DELETE", `/sandboxes/${other}`)
        expect(outcome(await files("GET", "/list", { path: dir, cursor }))).toBe("400 INVALID_REQUEST")
        const list = await files("GET", "/list", { path: dir, pageSize: "1" })
        expect(await read({ path, cursor: list.json.nextCursor })).toBe("400 INVALID_REQUEST")
        // Every single character changed, cut off or added.
        for (let at = 0; at < cursor.length; at += 1) {
          const changed = cursor.slice(0, at) + (cursor[at] === "A" ? "B" : "A") + cursor.slice(at + 1)
          expect(await read({ path, cursor: changed })).toBe("400 INVALID_REQUEST")
        }
        for (const garbled of [
          cursor.slice(1),
          cursor.slice(0, -1),
          `${cursor}A`,
          `${cursor}=`,
          ` ${cursor}`,
          "A",
          "💥",
          "A".repeat(4096)
        ]) {
          expect(await read({ path, cursor: garbled })).toBe("400 INVALID_REQUEST")
        }
        await files("PUT", "/content", { path }, { body: bytes("CONTENT") })
        expect(await read({ path, cursor })).toBe("409 CURSOR_STALE")
      })

      test("pages of a directory join; a new, removed or renamed entry makes the cursor stale, a new content does not", async ({
        files
      }, dir) => {
        const names = Array.from({ length: 25 }, (_, at) => `n${at}`)
        for (const name of names) await files("PUT", "/content", { path: `${dir}/${name}` }, { body: bytes("x") })
        const seen: Array<string> = []
        let cursor: string | null = null
        do {
          const page: Answer = await files("GET", "/list", {
            path: dir,
            pageSize: "10",
            ...(cursor === null ? {} : { cursor })
          })
          expect(page.status).toBe(200)
          seen.push(...page.json.entries.map((entry: { name: string }) => entry.name))
          cursor = page.json.nextCursor
          await files("PUT", "/content", { path: `${dir}/n3` }, { body: bytes(`content ${cursor}`) })
        } while (cursor !== null)
        expect(seen.toSorted()).toEqual(names.toSorted())
        const changes = [
          () => files("PUT", "/content", { path: `${dir}/new` }, { body: bytes("x") }),
          () => files("POST", "/rename", { path: `${dir}/new` }, { body: { destination: `${dir}/newer` } }),
          () => files("DELETE", "", { path: `${dir}/newer` }),
          () => files("POST", "/directory", { path: `${dir}/sub` })
        ]
        for (const change of changes) {
          const { nextCursor } = (await files("GET", "/list", { path: dir, pageSize: "10" })).json
          expect((await change()).status).toBe(204)
          expect(outcome(await files("GET", "/list", { path: dir, pageSize: "10", cursor: nextCursor }))).toBe(
            "409 CURSOR_STALE"
          )
        }
      })

      test("8 MiB are written and read; one byte more is 413, announced or not, and leaves the old content", async (service, dir) => {
        const { files } = service
        const path = `${dir}/big`
        const content = Buffer.alloc(8 * MiB, "0123456789-")
        expect((await files("PUT", "/content", { path }, { body: content })).status).toBe(204)
        const whole = await files("GET", "/content", { path })
        expect(whole.bytes.equals(content)).toBe(true)
        const more = Buffer.alloc(8 * MiB + 1)
        expect(await firstLine(service, `${head(service, path, `Content-Length: ${more.byteLength}`)}`)).toMatch(
          /^HTTP\/1\.1 413 /
        )
        const chunked = await sendChunked(service, path, more)
        expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
        expect((await files("GET", "/content", { path })).bytes.equals(content)).toBe(true)
        const edit = { expectedSha256: sha256(content), oldText: "0", newText: "00", replaceAll: true }
        expect(outcome(await files("PATCH", "/content", { path }, { body: edit }))).toBe("413 PAYLOAD_TOO_LARGE")
        expect((await files("GET", "/list", { path: dir })).json.entries).toHaveLength(1)
      })

      test("an upload that breaks off leaves the old content and no staging file", async (service, dir) => {
        const { files } = service
        const path = `${dir}/f`
        await files("PUT", "/content", { path }, { body: bytes("old") })
        await breakOff(service, path)
        expect((await files("GET", "/content", { path })).bytes.toString()).toBe("old")
        expect((await files("GET", "/list", { path: dir })).json.entries).toHaveLength(1)
      })

      test("refused edits name the fault and change nothing", async ({ files }, dir) => {
        const path = `${dir}/f`
        const latin = Buffer.from([0x61, 0xe9])
        await files("PUT", "/content", { path }, { body: bytes("one two one") })
        await files("PUT", "/content", { path: `${dir}/latin` }, { body: latin })
        const edit = (body: object, at = path) => files("PATCH", "/content", { path: at }, { body })
        const expectedSha256 = sha256("one two one")
        const ambiguous = await edit({ expectedSha256, oldText: "one", newText: "1" })
        expect([outcome(ambiguous), ambiguous.json.details]).toEqual(["409 TEXT_AMBIGUOUS", { occurrences: 2 }])
        expect(outcome(await edit({ expectedSha256, oldText: "three", newText: "3" }))).toBe("409 TEXT_NOT_FOUND")
        const stale = await edit({ expectedSha256: sha256("else"), oldText: "two", newText: "2" })
        expect([outcome(stale), stale.json.details]).toEqual([
          "412 PRECONDITION_FAILED",
          { actualSha256: expectedSha256 }
        ])
        expect(
          outcome(await edit({ expectedSha256: expectedSha256.toUpperCase(), oldText: "two", newText: "2" }))
        ).toBe("400 INVALID_REQUEST")
        expect(outcome(await edit({ expectedSha256, oldText: "", newText: "2" }))).toBe("400 INVALID_REQUEST")
        expect(outcome(await edit({ expectedSha256: sha256(latin), oldText: "a", newText: "b" }, `${dir}/latin`))).toBe(
          "400 INVALID_REQUEST"
        )
        expect(outcome(await edit({ expectedSha256, oldText: "a", newText: "b" }, dir))).toBe("409 IS_A_DIRECTORY")
        expect(outcome(await edit({ expectedSha256, oldText: "a", newText: "b" }, `${dir}/none`))).toBe("404 NOT_FOUND")
        expect((await files("GET", "/content", { path })).bytes.toString()).toBe("one two one")
        expect((await edit({ expectedSha256, oldText: "one", newText: "1", replaceAll: true })).json.replacements).toBe(
          2
        )
      })

      test("of 20 editors that saw the same file exactly one wins", async ({ files }, dir) => {
        const path = `${dir}/f`
        await files("PUT", "/content", { path }, { body: bytes("base") })
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, async (_, editor) =>
            outcome(
              await files(
                "PATCH",
                "/content",
                { path },
                { body: { expectedSha256: sha256("base"), oldText: "base", newText: `by ${editor}` } }
              )
            )
          )
        )
        expect(outcomes.toSorted()).toEqual([200, ...Array(19).fill("412 PRECONDITION_FAILED")])
      })

      test("directories, renames and removals answer with the contract's codes", async ({ files }, dir) => {
        const directory = async (name: string, body?: object) =>
          outcome(await files("POST", "/directory", { path: `${dir}/${name}` }, body === undefined ? {} : { body }))
        expect(await directory("a")).toBe(204)
        expect(await directory("a")).toBe("409 ALREADY_EXISTS")
        expect(await directory("a", { recursive: true })).toBe(204)
        expect(await directory("x/y/z")).toBe("404 NOT_FOUND")
        expect(await directory("x/y/z", { recursive: true })).toBe(204)
        await files("PUT", "/content", { path: `${dir}/f` }, { body: bytes("f") })
        await files("PUT", "/content", { path: `${dir}/g` }, { body: bytes("g") })
        expect(await directory("f", { recursive: true })).toBe("409 ALREADY_EXISTS")
        const rename = async (from: string, to: string, overwrite = false) =>
          outcome(
            await files(
              "POST",
              "/rename",
              { path: `${dir}/${from}` },
              { body: { destination: `${dir}/${to}`, overwrite } }
            )
          )
        expect(await rename("f", "g")).toBe("409 DESTINATION_EXISTS")
        expect(await rename("f", "g", true)).toBe(204)
        expect((await files("GET", "/content", { path: `${dir}/g` })).bytes.toString()).toBe("f")
        expect(await rename("none", "h")).toBe("404 NOT_FOUND")
        expect(await rename("g", "none/h")).toBe("404 NOT_FOUND")
        expect(await rename("x", "x/y/in")).toBe("400 INVALID_PATH")
        expect(await rename("a", "x")).toBe("409 DESTINATION_EXISTS")
        expect(await rename("a", "x", true)).toBe("409 DIRECTORY_NOT_EMPTY")
        expect(await rename("g", "a", true)).toBe("409 IS_A_DIRECTORY")
        expect(await rename("a", "g", true)).toBe("409 NOT_A_DIRECTORY")
        expect(outcome(await files("POST", "/rename", { path: `${dir}/g` }, { body: { destination: "/tmp/g" } }))).toBe(
          "400 INVALID_PATH"
        )
        const remove = async (path: string, query: Record<string, string> = {}) =>
          outcome(await files("DELETE", "", { path, ...query }))
        expect(await remove(`${dir}/x`)).toBe("409 DIRECTORY_NOT_EMPTY")
        expect(await remove(`${dir}/x`, { recursive: "perhaps" })).toBe("400 INVALID_REQUEST")
        expect(await remove(`${dir}/x`, { recursive: "true" })).toBe(204)
        expect(await remove(`${dir}/x`)).toBe("404 NOT_FOUND")
        expect(await remove(W, { recursive: "true" })).toBe("400 INVALID_PATH")
      })

      test("media types, scopes and bodies are checked before anything else", async ({
        files,
        send,
        sandboxId
      }, dir) => {
        const path = `${dir}/f`
        const put = (headers: Record<string, string>) =>
          files("PUT", "/content", { path }, { body: bytes("x"), headers })
        expect(outcome(await put({ "content-type": "text/plain" }))).toBe("415 UNSUPPORTED_MEDIA_TYPE")
        expect(outcome(await files("PATCH", "/content", { path }, { body: bytes("{}") }))).toBe(
          "415 UNSUPPORTED_MEDIA_TYPE"
        )
        expect(outcome(await files("POST", "/rename", { path }, { body: {} }))).toBe("400 INVALID_REQUEST")
        expect(outcome(await send("GET", `/sandboxes/${sandboxId}/files/stat?path=${path}`, { key: "wrong" }))).toBe(
          "401 UNAUTHENTICATED"
        )
        expect(outcome(await send("POST", `/sandboxes/${sandboxId}/files/stat?path=${path}`))).toBe(
          "405 METHOD_NOT_ALLOWED"
        )
        expect(outcome(await files("GET", "/stat", { path }))).toBe("404 NOT_FOUND")
      })

      test("50 concurrent readers and writers see whole contents only", async ({ files }, dir) => {
        const path = `${dir}/f`
        const content = (letter: number) => Buffer.alloc(100_000, letter)
        await files("PUT", "/content", { path }, { body: content(65) })
        await Promise.all(
          Array.from({ length: 50 }, async (_, actor) => {
            if (actor % 5 === 0) {
              expect((await files("PUT", "/content", { path }, { body: content(65 + (actor % 26)) })).status).toBe(204)
            } else {
              const { status, bytes } = await files("GET", "/content", { path })
              expect(status).toBe(200)
              expect(bytes.equals(content(bytes[0]!))).toBe(true)
            }
          })
        )
      })

      test("a stopped Sandbox answers 503, a deleted one or another account's 404", async ({ send, newSandbox }) => {
        const id = await newSandbox()
        const stat = async (sandbox: string) =>
          outcome(await send("GET", `/sandboxes/${sandbox}/files/stat?path=/workspace`))
        expect(await stat(id)).toBe(200)
        await send("POST", `/sandboxes/${id}/stop`)
        expect(await stat(id)).toBe("503 RUNTIME_UNAVAILABLE")
        await send("DELETE", `/sandboxes/${id}`)
        expect(await stat(id)).toBe("404 NOT_FOUND")
        expect(await stat("sbx_00000000000000000000000000")).toBe("404 NOT_FOUND")
        expect(await stat("nonsense")).toBe("404 NOT_FOUND")
      })
    }
  )

const head = (service: TestService["Service"], path: string, length: string) =>
  [
    `PUT /api/v2/sandboxes/${service.sandboxId}/files/content?${new URLSearchParams({ path })} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${service.key}`,
    "Content-Type: application/octet-stream",
    length,
    "",
    ""
  ].join("\r\n")

/** Sends a body of unannounced length. */
const sendChunked = (service: TestService["Service"], path: string, body: Buffer): Promise<string> =>
  firstLine(service, head(service, path, "Transfer-Encoding: chunked"), (socket) => {
    for (let at = 0; at < body.byteLength; at += 64 * 1024) {
      const piece = body.subarray(at, at + 64 * 1024)
      socket.write(`${piece.byteLength.toString(16)}\r\n`)
      socket.write(piece)
      socket.write("\r\n")
    }
    socket.write("0\r\n\r\n")
  })

/** The first line of the answer. */
const firstLine = (
  service: TestService["Service"],
  request: string,
  body: (socket: Socket) => void = () => {}
): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(service.port, "127.0.0.1")
    socket.on("error", reject)
    socket.on("close", () => reject(new Error("The connection was closed without an answer")))
    socket.once("data", (data) => {
      resolve(data.toString("latin1").split("\r\n", 1)[0]!)
      socket.destroy()
    })
    socket.write(request)
    body(socket)
  })

/** Sends half of what it announced, then closes the connection. */
const breakOff = (service: TestService["Service"], path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(service.port, "127.0.0.1")
    socket.on("error", reject)
    socket.on("close", () => resolve())
    socket.write(head(service, path, "Content-Length: 1000000"))
    socket.write(Buffer.alloc(500_000), () => socket.destroy())
  })
