/**
 * A client that sends too much reads the reason. Tested with clients in common use, not only with one that reads while
 * it sends.
 */
import { execFile, execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { AuditEvent } from "../../../../schemas/Audit.ts"
import { fileContentMaxBytes } from "../../../../schemas/Limits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const run = promisify(execFile)
const sentBytes = 5 * fileContentMaxBytes
const path = "/api/v2/sandboxes/sbx_00000000000000000000000000/files/content?path=/workspace/f"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const installed = (program: string): boolean => {
  try {
    execFileSync("which", [program], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

const inPython = `
import http.client, sys
port, key, path, size = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port))
connection.request("PUT", path, b"x" * int(size), {"Authorization": "Bearer " + key, "Content-Type": "application/octet-stream"})
print(connection.getresponse().status)
`

layer(TestApi.layer(), { excludeTestServices: true })("a file above the limit", (it) => {
  for (const framing of [`Content-Length: ${sentBytes}`, "Transfer-Encoding: chunked"]) {
    it.effect(`is answered 413 to a client that sends all of it before it reads (${framing.split(":", 1)[0]})`, () =>
      withApi(async ({ port, key }) => {
        const socket = connect(port, "127.0.0.1")
        let fault: Error | null = null
        socket.on("error", (error) => {
          fault = error
        })
        const head = `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/octet-stream\r\n${framing}\r\n\r\n`
        const chunked = framing.startsWith("Transfer")
        const bytes = Buffer.concat([
          Buffer.from(head + (chunked ? `${sentBytes.toString(16)}\r\n` : "")),
          Buffer.alloc(sentBytes),
          Buffer.from(chunked ? "\r\n0\r\n\r\n" : "")
        ])
        await new Promise((resolve) => socket.write(bytes, resolve))
        assert.isNull(fault)
        const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve))
        // The Sandbox does not exist: checks that need no length come first.
        assert.match(answer.toString(), chunked ? /^HTTP\/1.1 404 / : /^HTTP\/1.1 413 /)
        socket.destroy()
      })
    )
  }

  it.effect("is answered 413 to a slow client", () =>
    withApi(async ({ port, key }) => {
      const socket = connect(port, "127.0.0.1")
      let fault: Error | null = null
      socket.on("error", (error) => {
        fault = error
      })
      let answer = ""
      socket.write(
        `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/octet-stream\r\nContent-Length: ${sentBytes}\r\n\r\n`
      )
      const pieces = 20
      for (let piece = 0; piece < pieces; piece++) {
        await new Promise((resolve) => socket.write(Buffer.alloc(sentBytes / pieces), resolve))
        // Longer in all than the second that a server might wait.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      assert.isNull(fault)
      socket.on("data", (bytes) => {
        answer += bytes
      })
      await new Promise((resolve) => socket.once("close", resolve))
      assert.match(answer, /^HTTP\/1.1 413 .*"PAYLOAD_TOO_LARGE"/s)
    })
  )

  it.effect("is answered 413 to fetch", () =>
    withApi(async ({ port, key }) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "PUT",
        body: new Uint8Array(sentBytes),
        headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" }
      })
      assert.strictEqual(answer.status, 413)
      assert.strictEqual(((await answer.json()) as { readonly code: string }).code, "PAYLOAD_TOO_LARGE")
    })
  )

  it.effect("is answered 413 to a client that sends Expect: 100-continue, which then need not send the file", () =>
    withApi(async ({ raw, key }) => {
      const answer = await raw(
        `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/octet-stream\r\nExpect: 100-continue\r\nContent-Length: ${sentBytes}\r\n\r\n`
      )
      assert.match(answer, /^HTTP\/1.1 413 .*Connection: close/is)
    })
  )

  it.effect.skipIf(!installed("python3"))("is answered 413 to Python's http.client", () =>
    withApi(async ({ port, key }) => {
      const { stdout } = await run("python3", ["-c", inPython, String(port), key, path, String(sentBytes)])
      assert.strictEqual(stdout, "413\n")
    })
  )

  it.effect.skipIf(!installed("curl"))("is answered 413 to curl, with and without Expect: 100-continue", () =>
    withApi(async ({ port, key }) => {
      const folder = await mkdtemp(join(tmpdir(), "atoll-large-"))
      try {
        await writeFile(join(folder, "f"), Buffer.alloc(sentBytes))
        for (const expectation of ["Expect: 100-continue", "Expect:"]) {
          const { stdout } = await run("curl", [
            ...["-sS", "-X", "PUT", "-o", "/dev/null", "-w", "%{http_code}", "-H", expectation],
            ...["-H", `Authorization: Bearer ${key}`, "-H", "Content-Type: application/octet-stream"],
            ...["--data-binary", `@${join(folder, "f")}`, `http://127.0.0.1:${port}${path}`]
          ])
          assert.strictEqual(stdout, "413", expectation)
        }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  )

  it.effect("a small file is accepted after Expect: 100-continue, and is written once", () =>
    withApi(async ({ raw, key, send, auditWritten }) => {
      const id = randomUUID()
      const answer = await raw(
        `POST /api/v2/workspaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\nIdempotency-Key: asked\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 12\r\n\r\n{"name":"a"}`
      )
      assert.match(answer, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 /)
      // Work that began beside it has ended by then.
      await send("GET", "/api/v2/workspaces")
      await auditWritten()
      const { events } = (await send("GET", "/api/v2/usage/audit?limit=1000")).json
      assert.lengthOf(
        (events as ReadonlyArray<AuditEvent>).filter(({ requestId }) => requestId === id),
        1
      )
    })
  )
})
