/**
 * HTTPS served by Atoll itself: every entry over it, certificates that are replaced while it serves, and the messages
 * about unusable ones.
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { request } from "node:https"
import { connect as connectInClear } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type TLSSocket } from "node:tls"
import { afterAll, assert, describe, layer, it as test } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { WebSocket } from "ws"
import { previewUrl } from "../../../../src/access/preview/previewUrl.ts"
import { CertificateUnusable, certificateFiles, readCertificate } from "../../../../src/api/http/Certificate.ts"
import { clearTextWarning } from "../../../../src/api/http/clearText.ts"
import { SettingsUnusable } from "../../../../src/Config.ts"
import { publicUrl } from "../../../../src/console/server/consoleLink.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import type { Answer, Ask } from "../../../support/http/TestApi.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { selfSigned } from "../../../support/selfSigned.ts"
import { lines, remember } from "../../../support/serviceLog.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { untilFound } from "../../../support/until.ts"
import { httpPort, listenInside, tcpPort } from "./listenInside.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-tls-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const previewDomain = "preview.atoll.test"
const names = ["DNS:atoll.test", `DNS:*.${previewDomain}`, "IP:127.0.0.1"]
const first = selfSigned(folder, "first", names)
const second = selfSigned(folder, "second", names)
const served = { certFile: join(folder, "served.crt"), keyFile: join(folder, "served.key") }

/** Like certbot and Kubernetes: replaces the whole file in one step. */
const put = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}
put(served.certFile, first.cert)
put(served.keyFile, first.key)

const ca = [first.cert, second.cert]

const send = (
  port: number,
  method: string,
  path: string,
  { key = null, body, headers = {} }: Ask & { readonly key?: string | null } = {}
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : JSON.stringify(body)
    const host = headers["host"]?.split(":", 1)[0]
    const asked = request(
      {
        port,
        host: "127.0.0.1",
        ca,
        ...(host === undefined ? {} : { servername: host }),
        method,
        path,
        agent: false,
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(bytes === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        }
      },
      async (answer) => {
        let text = ""
        for await (const chunk of answer) text += chunk
        const isJson = answer.headers["content-type"]?.startsWith("application/json") ?? false
        resolve({ status: answer.statusCode!, headers: answer.headers, text, json: isJson ? JSON.parse(text) : null })
      }
    )
    asked.on("error", reject)
    asked.end(bytes)
  })

interface At {
  readonly host: string
  readonly port: number
}

const connected = async ({ host, port }: At): Promise<TLSSocket> => {
  const socket = connect({ port, host, servername: "atoll.test", ca })
  socket.on("error", () => {})
  await once(socket, "secureConnect")
  return socket
}

const servedNow = async (at: At): Promise<string> => {
  const socket = await connected(at)
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

/** Within a few polls of the files. */
const until = (what: string, holds: () => Promise<boolean> | boolean) =>
  untilFound(holds, { withinMs: 30_000, otherwise: () => `${what}\n${lines.join("\n")}` })

class World extends Context.Service<World, SimulatedWorld>()("atoll/test/World") {}

const service = ServedAtoll.layer(Layer.effect(Runtime, Effect.map(World, simulatedRuntime)), {
  ATOLL_TLS_CERT_FILE: served.certFile,
  ATOLL_TLS_KEY_FILE: served.keyFile,
  ATOLL_PREVIEW_DOMAIN: previewDomain,
  ATOLL_SERVICE_ACCESS: "on"
}).pipe(
  Layer.provideMerge(Layer.effect(World, SimulatedWorld.make)),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provide(Logger.layer([remember]))
)

/** A Sandbox; ServedAtoll's own client uses plain HTTP. */
const newSandbox = async (port: number, key: string): Promise<string> => {
  const once = () => ({ "idempotency-key": randomUUID() })
  const made = await send(port, "POST", "/api/v2/workspaces", { key, body: { name: "tls" }, headers: once() })
  const { id: workspaceId } = made.json.workspace
  const body = { workspaceId, networkEnabled: true }
  const created = await send(port, "POST", "/api/v2/sandboxes?wait=running", { key, body, headers: once() })
  assert.strictEqual(created.json.sandbox.status, "running", created.text)
  return created.json.sandbox.id
}

const echoed = async (socket: WebSocket): Promise<string> => {
  await once(socket, "open")
  socket.send(Buffer.from("hello"))
  const [said] = await once(socket, "message")
  socket.terminate()
  return String(said)
}

layer(service, { excludeTestServices: true })("HTTPS", (it) => {
  it.effect("serves the API, an event stream, a preview, its WebSocket and a tunnel", () =>
    Effect.gen(function* () {
      const { port, key } = yield* ServedAtoll
      const world = yield* World
      yield* Effect.promise(async () => {
        assert.strictEqual((await send(port, "GET", "/api/v2/me", { key })).status, 200)
        assert.strictEqual((await send(port, "GET", "/api/v2/me", {})).json.code, "UNAUTHENTICATED")
        const sandboxId = await newSandbox(port, key)

        const stream = request({
          port,
          host: "127.0.0.1",
          ca,
          path: `/api/v2/sandboxes/${sandboxId}/events`,
          headers: { authorization: `Bearer ${key}` },
          agent: false
        }).end()
        const [events] = (await once(stream, "response")) as [IncomingMessage]
        assert.strictEqual(events.headers["content-type"], "text/event-stream")
        await once(events, "data")
        stream.destroy()

        await listenInside(sandboxId, (method, path, asked) => send(port, method, path, { key, ...asked }), world)
        const headers = { "idempotency-key": randomUUID() }
        const made = await send(port, "POST", `/api/v2/sandboxes/${sandboxId}/previews`, {
          key,
          body: { port: httpPort },
          headers
        })
        const { url, hostname } = made.json.preview
        assert.strictEqual(url, `https://${hostname}:${port}/`)
        // The client checks the name against the certificate's wildcard.
        const { text } = await send(port, "GET", "/", { headers: { host: `${hostname}:${port}` } })
        assert.strictEqual(JSON.parse(text)["x-forwarded-proto"], "https")
        const named = { ca, servername: hostname, headers: { host: hostname } }
        const live = new WebSocket(`wss://127.0.0.1:${port}/`, [], named)
        assert.strictEqual(await echoed(live), "hello")

        const access = await send(port, "POST", `/api/v2/sandboxes/${sandboxId}/services`, {
          key,
          body: { requested_at: new Date().toISOString(), ports: [tcpPort] },
          headers: { "idempotency-key": randomUUID() }
        })
        assert.isString(access.json?.capability, access.text)
        const tunnel = new WebSocket(`wss://127.0.0.1:${port}/api/v2/tunnel?port=${tcpPort}`, ["atoll.tunnel"], {
          ca,
          headers: { authorization: `Bearer ${access.json.capability}` }
        })
        assert.strictEqual(await echoed(tunnel), "hello")
      })
    })
  )

  it.effect("answers plain HTTP with 400 and a reason, and cuts other protocols", () =>
    Effect.gen(function* () {
      const { port, key, listeners } = yield* ServedAtoll
      const said = ({ host, port }: At, bytes: string): Promise<string> =>
        new Promise((resolve) => {
          let text = ""
          const socket = connectInClear(port, host, () => socket.write(bytes))
          socket.on("data", (chunk) => {
            text += chunk
          })
          socket.on("error", () => {})
          socket.on("close", () => resolve(text))
        })
      yield* Effect.promise(async () => {
        const large = "x".repeat(300_000)
        for (const at of listeners) {
          for (const request of [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            `POST /api/v2/workspaces HTTP/1.1\r\nHost: x\r\nContent-Length: ${large.length}\r\n\r\n${large}`
          ]) {
            const [head = "", body = ""] = (await said(at, request)).split("\r\n\r\n")
            assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/)
            assert.match(head, /^Connection: close$/im)
            const { code, message, details } = JSON.parse(body)
            const sentence = "This port serves HTTPS: use https:// instead of http://."
            assert.deepStrictEqual([code, message], ["INVALID_REQUEST", sentence])
            assert.deepStrictEqual(details, { issues: [{ path: [], message: sentence }] })
          }
          assert.strictEqual(await said(at, "SSH-2.0-OpenSSH_9.2\r\n"), "")
        }
        assert.strictEqual((await send(port, "GET", "/api/v2/me", { key })).status, 200)
      })
    })
  )

  it.effect("restricts the console's cookie to itself, and a subdomain cannot set it", () =>
    Effect.gen(function* () {
      const { port, newLink } = yield* ServedAtoll
      yield* Effect.promise(async () => {
        const body = { code: await newLink() }
        const opened = await send(port, "POST", "/console/api/sign-in-link", { body })
        const [cookie = ""] = opened.headers["set-cookie"] ?? []
        assert.match(cookie, /^__Host-atoll_session=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=\d+$/)
        const own = { cookie: cookie.split(";", 1)[0]! }
        assert.strictEqual((await send(port, "GET", "/console/api/session", { headers: own })).status, 200)
      })
    })
  )

  it.effect("serves a replaced certificate from then on; it does not serve a bad one, and logs the reason once", () =>
    Effect.gen(function* () {
      const { key, listeners } = yield* ServedAtoll
      const allServe = async (name: string) =>
        (await Promise.all(listeners.map(servedNow))).every((one) => one === name)
      const services = listeners.length
      yield* Effect.promise(async () => {
        assert.isTrue(await allServe("first"))
        const open = await Promise.all(listeners.map(connected))
        put(served.certFile, second.cert)
        // While the key is the old one, both stay as they were. Each service logs it.
        const told = () => lines.filter((line) => line.includes("The previous certificate stays in use"))
        const tellAll = (why: string) => told().filter((line) => line.includes(why)).length >= services
        await until("the wrong key is logged", () => tellAll("is not that of the first certificate"))
        assert.isTrue(await allServe("first"))
        put(served.keyFile, second.key)
        await until("the second is served", () => allServe("second"))

        put(served.certFile, "nothing")
        await until("the bad one is logged", () => tellAll("holds no certificate"))
        await new Promise((resolve) => setTimeout(resolve, 1500))
        assert.strictEqual(told().length, 2 * services, "told once")
        assert.isTrue(await allServe("second"))
        put(served.certFile, first.cert)
        put(served.keyFile, first.key)
        await until("the first is served again", () => allServe("first"))

        // Connections that were open all the while go on.
        for (const socket of open) {
          socket.write(`GET /api/v2/me HTTP/1.1\r\nHost: atoll.test\r\nAuthorization: Bearer ${key}\r\n\r\n`)
          const [answer] = await once(socket, "data")
          assert.match(String(answer), /^HTTP\/1\.1 200 /)
          socket.destroy()
        }
        assert.notInclude(lines.join("\n"), "PRIVATE KEY")
      })
    })
  )
})

describe("settings of HTTPS", () => {
  const plain = { tlsCertFile: null, tlsKeyFile: null }
  const both = { tlsCertFile: first.certFile, tlsKeyFile: first.keyFile }

  const refused = (certFile: string, keyFile: string) =>
    Effect.runPromise(Effect.flip(readCertificate({ certFile, keyFile }, previewDomain))).then((error) => {
      assert.instanceOf(error, CertificateUnusable)
      return error.message
    })

  test("the certificate's file and the key's file need each other", async () => {
    for (const alone of [
      { ...plain, tlsCertFile: "a" },
      { ...plain, tlsKeyFile: "a" }
    ]) {
      const error = await Effect.runPromise(Effect.flip(certificateFiles(alone)))
      assert.instanceOf(error, SettingsUnusable)
      assert.match(error.message, /^ATOLL_TLS_(CERT|KEY)_FILE needs ATOLL_TLS_(KEY|CERT)_FILE beside it\.$/)
    }
    assert.isNull(await Effect.runPromise(certificateFiles(plain)))
  })

  test("a missing file, a folder, or a wrong content is named with the fault", async () => {
    const missing = join(folder, "missing.pem")
    assert.strictEqual(
      await refused(missing, first.keyFile),
      `ATOLL_TLS_CERT_FILE, ${missing}, cannot be read: there is no such file.`
    )
    assert.strictEqual(
      await refused(first.certFile, folder),
      `ATOLL_TLS_KEY_FILE, ${folder}, cannot be read: it is a folder.`
    )
    assert.match(await refused(first.keyFile, first.keyFile), /^ATOLL_TLS_CERT_FILE, .* holds no certificate in PEM\.$/)
    assert.match(await refused(first.certFile, first.certFile), /^ATOLL_TLS_KEY_FILE, .* holds no private key in PEM/)
    assert.match(
      await refused(first.certFile, second.keyFile),
      /^The key in .* is not that of the first certificate in /
    )
  })

  test("a certificate without the previews' wildcard name is served with a warning", async () => {
    const narrow = selfSigned(folder, "narrow", ["DNS:atoll.test"])
    lines.length = 0
    await Effect.runPromise(readCertificate(narrow, previewDomain).pipe(Effect.provide(Logger.layer([remember]))))
    assert.match(lines.join("\n"), /The certificate is not for \*\.preview\.atoll\.test/)
    lines.length = 0
    await Effect.runPromise(readCertificate(first, previewDomain).pipe(Effect.provide(Logger.layer([remember]))))
    assert.notInclude(lines.join("\n"), "not for")
  })

  test("unencrypted keys get a warning, but not on the loopback", () => {
    for (const host of ["0.0.0.0", "::", "10.0.0.7", "atoll.example.org", "127.example.org"]) {
      assert.include(clearTextWarning({ host, tlsCertFile: null }), "API keys are not encrypted")
      assert.isNull(clearTextWarning({ host, tlsCertFile: first.certFile }))
    }
    for (const host of ["127.0.0.1", "127.0.0.5", "::1", "localhost"]) {
      assert.isNull(clearTextWarning({ host, tlsCertFile: null }))
    }
  })

  test("links to the console and to previews have the served scheme and port", () => {
    const at = { publicUrl: null, host: "0.0.0.0" }
    assert.strictEqual(publicUrl({ ...at, ...both, port: 8443 }), "https://127.0.0.1:8443")
    assert.strictEqual(publicUrl({ ...at, ...both, port: 443 }), "https://127.0.0.1")
    assert.strictEqual(publicUrl({ ...at, ...plain, port: 8080 }), "http://127.0.0.1:8080")
    assert.strictEqual(publicUrl({ ...at, ...both, publicUrl: "https://a.test", port: 0 }), "https://a.test")
    const url = (previewScheme: "auto" | "http" | "https", tls: typeof plain | typeof both, port: number) =>
      previewUrl({ ...tls, previewScheme }, "x.test", port)
    assert.strictEqual(url("auto", both, 8443), "https://x.test:8443/")
    assert.strictEqual(url("auto", both, 443), "https://x.test/")
    assert.strictEqual(url("auto", plain, 8080), "http://x.test:8080/")
    assert.strictEqual(url("auto", plain, 80), "http://x.test/")
    assert.strictEqual(url("https", plain, 8080), "https://x.test/")
  })
})
