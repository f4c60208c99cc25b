/** /mcp with the official clients of the present specification and of the year before, with real programs inside. */
import { randomBytes } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { freshDriver, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import {
  earlierClient,
  type MakeClient,
  type McpClient,
  presentClient,
  type Transport
} from "../../../support/mcp/McpClients.ts"
import { takesRelativePaths } from "../../../support/mcp/takesRelativePaths.ts"
import { toolNames } from "../../../support/mcp/toolNames.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const small = { ATOLL_VOLUME_BYTES: String(128 * 1024 ** 2) }

const failed = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call
  } catch (thrown) {
    return String(thrown)
  }
  throw new Error("It did not fail.")
}

type Served = ServedAtoll["Service"]

const urlOf = ({ port }: Served): string => `http://127.0.0.1:${port}`

const withServed = (use: (served: Served) => Promise<void>) =>
  Effect.flatMap(ServedAtoll, (served) => Effect.promise(() => use(served)))

const withClient = (
  make: MakeClient,
  transport: Transport,
  use: (client: McpClient, served: Served) => Promise<void>
) =>
  withServed(async (served) => {
    const client = await make(urlOf(served), served.key, transport)
    await use(client, served)
    await client.close()
  })

/** The answer of a call, which is no error. */
const done = async (client: McpClient, name: string, given: Readonly<Record<string, unknown>>) => {
  const { isError, answer, text } = await client.call(name, given)
  assert.isFalse(isError, `${name}: ${text}`)
  assert.deepStrictEqual(JSON.parse(text), answer)
  return answer
}

/** The Error body that the call answers. */
const refused = async (client: McpClient, name: string, given: Readonly<Record<string, unknown>>) => {
  const { isError, answer, text } = await client.call(name, given)
  assert.isTrue(isError, `${name}: ${text}`)
  assert.hasAllKeys(answer, ["code", "message", "requestId", "details"])
  assert.match(answer.requestId, /^req_/)
  return answer
}

/** All of an operation's stdout from an offset on, in as many calls as it needs. */
const rest = async (
  client: McpClient,
  { sandboxId, operationId }: { sandboxId: string; operationId: string },
  from: number,
  bytes: number
) => {
  let text = ""
  let stdoutOffset = from
  while (true) {
    const piece = await done(client, "output", { sandboxId, operationId, stdoutOffset, maxOutputBytes: bytes })
    assert.strictEqual(piece.stdout.offset, stdoutOffset)
    text += piece.stdout.text
    stdoutOffset = piece.stdout.nextOffset
    if (piece.stdout.eof) return { text, last: piece }
    assert.match(piece.note, /call output with/)
  }
}

describe.skipIf(skipped(unusable))("MCP", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    for (const [which, make, transport] of [
      ["2026-07-28", presentClient, "http"],
      ["2025-11-25", earlierClient, "stdio"]
    ] as const) {
      it.effect(`does a whole job for a client of ${which} over ${transport}`, () =>
        withClient(make, transport, async (client) => {
          assert.deepStrictEqual(await client.names(), toolNames)
          assert.match(client.instructions() ?? "", /create_sandbox/)

          const key = randomBytes(8).toString("hex")
          const create = { name: "first", networkEnabled: isRoot, metadata: { team: "blue" }, idempotencyKey: key }
          const { sandbox } = await done(client, "create_sandbox", create)
          assert.deepInclude(sandbox, { name: "first", status: "running", metadata: { team: "blue" } })
          assert.strictEqual((await done(client, "create_sandbox", create)).sandbox.id, sandbox.id)
          const other = await refused(client, "create_sandbox", { ...create, name: "second" })
          assert.strictEqual(other.code, "IDEMPOTENCY_CONFLICT")
          const sandboxId: string = sandbox.id
          const { sandboxes } = await done(client, "list_sandboxes", { status: ["running"], limit: 100 })
          assert.include(
            sandboxes.map(({ id }: { id: string }) => id),
            sandboxId
          )

          const command = 'echo "grüße $WHO"; cat; echo oops >&2; exit 3'
          const result = await done(client, "run", {
            sandboxId,
            command,
            env: { WHO: "Ada" },
            stdin: "in\n",
            cwd: null
          })
          assert.deepInclude(result, { status: "completed", exitCode: 3, signal: null, note: null })
          assert.deepInclude(result.stdout, { text: "grüße Ada\nin\n", truncated: false, eof: true })
          assert.deepInclude(result.stderr, { text: "oops\n" })
          const killed = await done(client, "run", { sandboxId, argv: ["sh", "-c", "kill -9 $$"] })
          assert.deepInclude(killed, { exitCode: null, signal: "SIGKILL" })
          const late = await done(client, "run", {
            sandboxId,
            argv: ["sleep", "600"],
            timeoutSeconds: 1,
            waitSeconds: 30
          })
          assert.deepInclude(late, { status: "failed", exitCode: null })
          assert.strictEqual(late.reason.code, "TIMED_OUT")

          const write = (path: string, content: string) => done(client, "write_file", { sandboxId, path, content })
          const slow = await done(client, "run", {
            sandboxId,
            command: "echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 5",
            waitSeconds: 0,
            idempotencyKey: key
          })
          assert.notStrictEqual(slow.status, "completed")
          assert.match(slow.note, /call output with stdoutOffset \d+ and stderrOffset 0/)
          const first = await done(client, "output", { sandboxId, waitSeconds: 30 })
          assert.deepInclude(first, { operationId: slow.operationId, status: "running" })
          assert.strictEqual(first.stdout.text, "one\n")
          await write("/workspace/go", "")
          const { text, last } = await rest(client, slow, first.stdout.nextOffset, 4096)
          assert.strictEqual(text, "two\n")
          assert.deepInclude(last, { status: "completed", exitCode: 5, note: null })

          const sleeper = await done(client, "run", { sandboxId, argv: ["sleep", "600"], waitSeconds: 0 })
          const handle = { sandboxId, operationId: sleeper.operationId }
          assert.strictEqual((await done(client, "cancel", handle)).status, "cancelled")
          assert.strictEqual((await done(client, "output", handle)).status, "cancelled")

          const path = "/workspace/deep/er/note.txt"
          const made = await write(path, "one two two ü")
          const file = await done(client, "read_file", { sandboxId, path })
          assert.deepInclude(file, { content: "one two two ü", encoding: "utf8", eof: true, sha256: made.sha256 })
          const edit = { sandboxId, path, oldText: "two", newText: "three" }
          assert.deepInclude(await refused(client, "edit_file", edit), {
            code: "TEXT_AMBIGUOUS",
            details: { occurrences: 2 }
          })
          const edited = await done(client, "edit_file", { ...edit, replaceAll: true })
          assert.strictEqual(edited.replacements, 2)
          const stale = { ...edit, oldText: "one", expectedSha256: made.sha256 }
          assert.deepInclude(await refused(client, "edit_file", stale), {
            code: "PRECONDITION_FAILED",
            details: { actualSha256: edited.sha256 }
          })
          await done(client, "edit_file", { ...stale, expectedSha256: edited.sha256 })
          const piece = await done(client, "read_file", { sandboxId, path, offset: 6, maxBytes: 5 })
          assert.deepInclude(piece, { content: "three", offset: 6, nextOffset: 11, eof: false, sha256: null })
          const bytes = Buffer.from([0, 255, 10]).toString("base64")
          await done(client, "write_file", { sandboxId, path: "/workspace/bin", content: bytes, encoding: "base64" })
          const binary = await done(client, "read_file", { sandboxId, path: "/workspace/bin" })
          assert.deepInclude(binary, { content: bytes, encoding: "base64", sizeBytes: 3 })
          const listed = await done(client, "list_files", { sandboxId })
          assert.includeMembers(
            listed.entries.map(({ name }: { name: string }) => name),
            ["go", "bin", "deep"]
          )
          for (const path of ["/etc/passwd", "../etc/passwd", "a/../../etc/passwd"])
            assert.strictEqual((await refused(client, "read_file", { sandboxId, path })).code, "INVALID_PATH", path)

          await takesRelativePaths((name, given) => done(client, name, { sandboxId, ...given }))

          if (isRoot) {
            const preview = await done(client, "open_preview", { sandboxId, port: 3000 })
            assert.match(preview.url, /^http:/)
            assert.strictEqual((await done(client, "open_preview", { sandboxId, port: 3000 })).url, preview.url)
            assert.include(await refused(client, "open_preview", { sandboxId, port: 3001 }), { code: "PREVIEW_EXISTS" })
            await done(client, "open_preview", { sandboxId, port: 3002, alongside: true })
            const third = await done(client, "open_preview", { sandboxId, port: 3001, replace: true })
            assert.notStrictEqual(third.url, preview.url)
          }

          assert.strictEqual((await done(client, "stop_sandbox", { sandboxId })).sandbox.status, "stopped")
          assert.deepInclude(await refused(client, "run", { sandboxId, command: "true" }), {
            code: "SANDBOX_UNAVAILABLE",
            details: { status: "stopped" }
          })
          assert.strictEqual((await done(client, "start_sandbox", { sandboxId })).sandbox.status, "running")
          assert.strictEqual((await done(client, "read_file", { sandboxId, path })).content, "three three three ü")
          assert.deepStrictEqual(await done(client, "delete_sandbox", { sandboxId }), { sandboxId, deleted: true })
          const { code } = await refused(client, "run", { sandboxId, command: "true" })
          assert.include(["NOT_FOUND", "SANDBOX_UNAVAILABLE"], code)
        })
      )
    }

    it.effect("gives a command's output as text, for all bytes, and reports the part that an answer omits", () =>
      withClient(presentClient, "http", async (client, served) => {
        const sandboxId = await served.newSandbox()
        const hostile = String.raw`printf '\0\033]0;x\a\xff\xfe\xc3(\xed\xa0\x80\n' >&2; printf '{"isError":true}\n'`
        const odd = await done(client, "run", { sandboxId, command: hostile })
        assert.isTrue(odd.stderr.text.isWellFormed())
        assert.deepInclude(odd.stderr, { totalBytes: 15, eof: true })
        assert.strictEqual(odd.stdout.text, '{"isError":true}\n')

        const many = await done(client, "run", {
          sandboxId,
          command: "for i in $(seq 20000); do printf 'a€😀'; done",
          maxOutputBytes: 1001
        })
        const whole = "a€😀".repeat(20_000)
        assert.deepInclude(many.stdout, { totalBytes: 160_000, truncated: true, eof: true })
        assert.isTrue(whole.endsWith(many.stdout.text) && many.stdout.text.length > 300)
        assert.match(many.note, new RegExp(`The first ${many.stdout.offset} bytes of stdout are left out`))
        assert.strictEqual((await rest(client, many, 0, 9973)).text, whole)
        const cut = await done(client, "output", { sandboxId, stdoutOffset: 2, maxOutputBytes: 6 })
        assert.strictEqual(cut.stdout.text, "\ufffd\ufffd😀")
        const beyond = await done(client, "output", { sandboxId, stdoutOffset: 999_999 })
        assert.deepInclude(beyond.stdout, { text: "", totalBytes: 160_000, eof: true })
      })
    )

    it.effect("shows a key the tools that its scopes allow, and nothing of another account", () =>
      withServed(async (served) => {
        const sandboxId = await served.newSandbox()
        const { answer: op } = await (await presentClient(urlOf(served), served.key)).call("run", {
          sandboxId,
          command: "echo secret"
        })
        const reader = await served.newKey(["sandbox:read"])
        const client = await presentClient(urlOf(served), reader.secret)
        assert.deepStrictEqual(await client.names(), [
          "list_sandboxes",
          "list_snapshots",
          "list_images",
          "read_file",
          "list_files"
        ])
        assert.deepInclude(await refused(client, "run", { sandboxId, command: "true" }), {
          code: "SCOPE_REQUIRED",
          details: { scope: "sandbox:execute" }
        })

        const stranger = await served.newKey(
          ["sandbox:read", "sandbox:execute", "sandbox:create", "sandbox:delete"],
          "other"
        )
        const foreign = await earlierClient(urlOf(served), stranger.secret)
        assert.deepStrictEqual((await done(foreign, "list_sandboxes", {})).sandboxes, [])
        const calls: Array<[string, Record<string, unknown>]> = [
          ["run", { command: "true" }],
          ["output", { operationId: op.operationId }],
          ["output", {}],
          ["cancel", { operationId: op.operationId }],
          ["read_file", { path: "/workspace" }],
          ["write_file", { path: "/workspace/x", content: "" }],
          ["write_file", { path: "/workspace/deep/x", content: "" }],
          ["edit_file", { path: "/workspace/x", oldText: "a", newText: "b" }],
          ["list_files", {}],
          ["open_preview", { port: 80 }],
          ["start_sandbox", {}],
          ["stop_sandbox", {}],
          ["delete_sandbox", {}]
        ]
        for (const [name, given] of calls) {
          assert.strictEqual((await refused(foreign, name, { sandboxId, ...given })).code, "NOT_FOUND", name)
        }
        // No workspace, and no right to make one.
        assert.deepInclude(await refused(foreign, "create_sandbox", {}), { code: "NOT_FOUND", details: null })
      })
    )

    it.effect("names the fault of a call", () =>
      withClient(earlierClient, "http", async (client) => {
        const sandboxId = "sbx_01m81v57aseqh97btskpmzej5f"
        const wrong = async (name: string, given: Record<string, unknown>) =>
          (await refused(client, name, given)).details.issues as ReadonlyArray<{ path: Array<string>; message: string }>
        assert.deepStrictEqual(await wrong("run", { sandboxId: "sbx_1", command: "x", argv: ["x"], comand: "x" }), [
          { path: ["comand"], message: "Not known. The nearest name is command." },
          { path: ["sandboxId"], message: "Expected an id: sbx_ and 26 characters of lowercase base32" }
        ])
        assert.deepStrictEqual(await wrong("run", { sandboxId }), [
          { path: ["command"], message: "Expected either command or argv, and not both" }
        ])
        assert.deepStrictEqual(
          (await wrong("output", { sandboxId, stdoutOffset: -1, waitSeconds: 31, maxOutputBytes: 1 })).map(
            ({ path }) => path
          ),
          [["stdoutOffset"], ["waitSeconds"], ["maxOutputBytes"]]
        )
        assert.match(await failed(client.call("nope")), /There is no tool "nope"; tools\/list lists them/)
      })
    )

    it.effect("refuses a request for another endpoint before it reads the body", () =>
      withServed(async (served) => {
        const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }
        const ask = (body: unknown, headers: Record<string, string> = {}, key?: string | null) =>
          served.send("POST", "/mcp", { body, headers, ...(key === undefined ? {} : { key }) })
        const codeOf = async (answer: ReturnType<typeof ask>) => {
          const { status, json, headers } = await answer
          assert.strictEqual(headers["x-request-id"], json.requestId)
          return [status, json.code]
        }
        const plain = await ask(list)
        assert.strictEqual(plain.status, 200)
        assert.lengthOf(plain.json.result.tools, toolNames.length)

        const anonymous = await ask(list, {}, null)
        assert.deepStrictEqual([anonymous.status, anonymous.json.code], [401, "UNAUTHENTICATED"])
        assert.strictEqual(anonymous.headers["www-authenticate"], "Bearer")
        assert.deepStrictEqual(await codeOf(ask(list, {}, `atoll_live_${"x".repeat(43)}`)), [401, "UNAUTHENTICATED"])
        const here = `127.0.0.1:${served.port}`
        assert.strictEqual((await ask(list, { origin: `http://${here}` })).status, 200)
        for (const [origin, host] of [
          ["https://evil.example", here],
          ["null", here],
          // A name of the page that resolves to this address.
          [`http://evil.example:${served.port}`, `evil.example:${served.port}`]
        ] as const) {
          assert.deepStrictEqual(await codeOf(ask(list, { origin, host })), [403, "CROSS_SITE_REQUEST"], origin)
        }
        assert.deepStrictEqual(await codeOf(ask("{")), [400, "INVALID_REQUEST"])
        assert.deepStrictEqual(await codeOf(ask([list, list])), [400, "INVALID_REQUEST"])
        assert.deepStrictEqual(await codeOf(ask(Buffer.from([0x7b, 0xff, 0x7d]))), [400, "INVALID_REQUEST"])
        assert.deepStrictEqual(await codeOf(ask(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`)), [400, "INVALID_REQUEST"])
        assert.deepStrictEqual(await codeOf(ask(list, { "content-type": "text/plain" })), [
          415,
          "UNSUPPORTED_MEDIA_TYPE"
        ])
        assert.deepStrictEqual(await codeOf(ask({ ...list, a: "x".repeat(5 * 1024 ** 2) })), [413, "PAYLOAD_TOO_LARGE"])
        const queried = await served.send("POST", "/mcp?key=secret", { body: list })
        assert.deepStrictEqual([queried.status, queried.json.code], [400, "INVALID_REQUEST"])
        for (const method of ["GET", "DELETE"]) {
          const answer = await served.send(method, "/mcp")
          assert.deepStrictEqual([answer.status, answer.headers.allow], [405, "POST, OPTIONS"])
        }
        // The SDK refuses JSON that is no message of the protocol, in the protocol's words.
        assert.strictEqual((await ask({ jsonrpc: "2.0" })).json.error.code, -32_600)
        assert.strictEqual((await ask({ ...list, method: "nope" })).json.error.code, -32_601)
        const subscribe = await ask({ ...list, method: "subscriptions/listen" })
        assert.deepStrictEqual([subscribe.status, subscribe.json.error.code], [404, -32_601])
        assert.strictEqual((await ask({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 202)
      })
    )

    it.effect("leaves the command of a client that disconnects for a later client to read", () =>
      withClient(earlierClient, "http", async (client, served) => {
        const sandboxId = await served.newSandbox()
        const gone = new AbortController()
        const given = { sandboxId, command: "echo up; until [ -e go ]; do sleep 0.02; done; exit 7", waitSeconds: 30 }
        const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "run", arguments: given } }
        const asked = fetch(`${urlOf(served)}/mcp`, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { authorization: `Bearer ${served.key}`, "content-type": "application/json" },
          signal: gone.signal
        })
        const lost = failed(asked)
        while ((await client.call("output", { sandboxId, waitSeconds: 1 })).answer.stdout?.text !== "up\n");
        gone.abort()
        await lost
        await done(client, "write_file", { sandboxId, path: "/workspace/go", content: "" })
        const { operationId } = await done(client, "output", { sandboxId })
        const { last } = await rest(client, { sandboxId, operationId }, 0, 4096)
        assert.deepInclude(last, { status: "completed", exitCode: 7 })
        const abandoned = async () => {
          await served.auditWritten()
          const { json } = await served.send("GET", `/api/v2/usage/audit?sandboxId=${sandboxId}&action=startOperation`)
          return json.events.map(({ status, targetId }: Record<string, unknown>) => [status, targetId])
        }
        while ((await abandoned()).length === 0);
        assert.deepStrictEqual(await abandoned(), [[499, operationId]])
      })
    )

    it.effect("ends with its key, and is in the audit log by the action of each tool", () =>
      withServed(async (served) => {
        const sandboxId = await served.newSandbox()
        const key = await served.newKey(["sandbox:read", "sandbox:execute", "usage:read"])
        const client = await presentClient(urlOf(served), key.secret)
        const { operationId } = await done(client, "run", {
          sandboxId,
          command: "echo $0",
          env: { TOKEN: "very secret" }
        })
        await done(client, "list_files", { sandboxId })
        await refused(client, "read_file", { sandboxId, path: "/workspace/none" })
        await refused(client, "delete_sandbox", { sandboxId })
        await refused(client, "cancel", { sandboxId, operationId: "very secret" })
        await served.auditWritten()
        const { json, text } = await served.send("GET", `/api/v2/usage/audit?limit=5&sandboxId=${sandboxId}`)
        const events = json.events.filter(({ source }: { source: string }) => source === "mcp")
        assert.deepStrictEqual(
          events.map(({ action, method, path, targetId, status, errorCode, apiKeyId }: Record<string, unknown>) => [
            action,
            `${method} ${path}`,
            targetId,
            status,
            errorCode,
            apiKeyId
          ]),
          [
            ["cancelOperation", "POST /mcp", null, 400, "INVALID_REQUEST", key.id],
            ["deleteSandbox", "POST /mcp", sandboxId, 403, "SCOPE_REQUIRED", key.id],
            ["readFile", "POST /mcp", sandboxId, 404, "NOT_FOUND", key.id],
            ["startOperation", "POST /mcp", operationId, 200, null, key.id]
          ]
        )
        assert.notInclude(text, "very secret")

        assert.strictEqual((await served.send("DELETE", "/api/v2/auth", { key: key.secret })).status, 204)
        assert.match(await failed(client.call("list_sandboxes")), /401|UNAUTHENTICATED/)
      })
    )
  })
})
