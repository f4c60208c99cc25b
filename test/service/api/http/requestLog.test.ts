/** The log line of a request: which requests have one at which level, and what it never holds. */
import { randomUUID } from "node:crypto"
import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import type { KnownCall } from "../../../../src/api/http/AuditedRequest.ts"
import { requestLog } from "../../../../src/api/http/RequestLog.ts"
import { type Answer, type Ask, TestApi } from "../../../support/http/TestApi.ts"
import { lines, linesWith, remember, rememberAll } from "../../../support/serviceLog.ts"

interface Line {
  readonly level: string
  readonly message: unknown
  readonly annotations: Readonly<Record<string, unknown>>
}

const logged = TestApi.layer({ ATOLL_LOG_LEVEL: "debug" }).pipe(Layer.provide(rememberAll))

layer(logged, { excludeTestServices: true })("the log line of a request", (it) => {
  /** The answer, and the request's one line. The line is written before the answer. */
  const asked = async (send: TestApi["Service"]["send"], method: string, path: string, ask: Ask = {}) => {
    const id = randomUUID()
    const answer = await send(method, path, { ...ask, headers: { ...ask.headers, "x-request-id": id } })
    const ofRequest = (found: ReadonlyArray<string>) =>
      found
        .map((text) => JSON.parse(text) as Line)
        .filter(({ annotations, message }) => annotations["requestId"] === id && message === "request")
    const [line, ...more] = ofRequest(await linesWith(id, (found) => ofRequest(found).length > 0))
    assert.isDefined(line, `${method} ${path} has no line`)
    assert.isEmpty(more)
    return { answer, line, text: JSON.stringify(line) } satisfies { answer: Answer; line: Line; text: string }
  }

  it.effect("is info for a change: caller, address, target, status, and the id of what it made", () =>
    Effect.gen(function* () {
      const { send, key, accountId, sourceIp } = yield* TestApi
      yield* Effect.promise(async () => {
        const made = await asked(send, "POST", "/api/v2/workspaces", {
          body: { name: "private" },
          headers: { "idempotency-key": randomUUID() }
        })
        const workspaceId = made.answer.json.workspace.id
        const { durationMs, requestId, ...rest } = made.line.annotations
        assert.deepStrictEqual(rest, {
          method: "POST",
          route: "/api/v2/workspaces",
          status: 201,
          accountId,
          keyHint: key.slice(-4),
          targetType: "workspace",
          targetId: workspaceId,
          sourceIp
        })
        assert.strictEqual(made.line.level, "INFO")
        assert.isAbove(Number(durationMs), 0)
        assert.strictEqual(requestId, made.answer.headers["x-request-id"])

        const sandbox = await asked(send, "POST", "/api/v2/sandboxes?wait=running", {
          body: { workspaceId },
          headers: { "idempotency-key": randomUUID() }
        })
        const sandboxId = sandbox.answer.json.sandbox.id
        assert.deepInclude(sandbox.line.annotations, { route: "/api/v2/sandboxes", sandboxId, targetId: sandboxId })

        const refused = await asked(send, "POST", "/api/v2/workspaces", { body: { nmae: "private" } })
        assert.strictEqual(refused.line.level, "INFO")
        assert.deepInclude(refused.line.annotations, { status: 400, errorCode: "INVALID_REQUEST", accountId })
        assert.notInclude(made.text + refused.text, "private")
      })
    })
  )

  it.effect("is debug for a read and for an unauthenticated request", () =>
    Effect.gen(function* () {
      const { send } = yield* TestApi
      yield* Effect.promise(async () => {
        const read = await asked(send, "GET", "/api/v2/sandboxes?metadata.a=private")
        assert.strictEqual(read.line.level, "DEBUG")
        const unknown = await asked(send, "POST", "/api/v2/workspaces", { key: "atoll_live_none", body: {} })
        assert.strictEqual(unknown.line.level, "DEBUG")
        assert.deepInclude(unknown.line.annotations, { status: 401, errorCode: "UNAUTHENTICATED" })
        assert.notProperty(unknown.line.annotations, "accountId")
        const nowhere = await asked(send, "POST", "/api/v2/private")
        assert.deepInclude(nowhere.line.annotations, { route: "unmatched", status: 404 })
        assert.notInclude(read.text + unknown.text + nowhere.text, "private")
        assert.notInclude(unknown.text, "none")
      })
    })
  )

  it.effect("holds no capability: neither the key nor a preview's id", () =>
    Effect.gen(function* () {
      const { send, key, newWorkspace, newSandbox } = yield* TestApi
      yield* Effect.promise(async () => {
        const sandboxId = await newSandbox(await newWorkspace())
        const path = `/api/v2/sandboxes/${sandboxId}/previews`
        const opened = await asked(send, "POST", path, { body: { port: 3000 } })
        assert.strictEqual(opened.answer.status, 201, opened.answer.text)
        const { id } = opened.answer.json.preview
        const closed = await asked(send, "DELETE", `${path}/${id}`)
        assert.strictEqual(closed.line.level, "INFO")
        assert.deepInclude(closed.line.annotations, { sandboxId, route: "/api/v2/sandboxes/:id/previews/:previewId" })
        const everything = lines.join("\n")
        assert.notInclude(everything, id)
        assert.notInclude(everything, key)
      })
    })
  )

  it.effect("is a warning for a 5xx, such as a call of a Sandbox that does not run", () =>
    Effect.gen(function* () {
      const { send, newWorkspace, newSandbox } = yield* TestApi
      yield* Effect.promise(async () => {
        const path = `/api/v2/sandboxes/${await newSandbox(await newWorkspace())}`
        await send("POST", `${path}/stop`)
        while ((await send("GET", path)).json.sandbox.status !== "stopped");
        const { line } = await asked(send, "POST", `${path}/execute`, { body: { argv: ["true"] } })
        assert.strictEqual(line.level, "WARN")
        assert.deepInclude(line.annotations, { status: 502, errorCode: "SANDBOX_UNAVAILABLE" })
      })
    })
  )
})

describe("a request below the logged level", () => {
  const change: KnownCall = {
    credential: { source: "console", accountId: "acc_1", apiKeyId: null, sessionId: "ses_1", hint: null, name: null },
    action: "createWorkspace",
    changes: true,
    path: "/api/v2/workspaces",
    sandboxId: null,
    targetType: "workspace",
    targetId: null
  }
  const request = new IncomingMessage(new Socket())
  const answered = (status: number, call: KnownCall | null) =>
    ({ request, method: "POST", route: "/", status, errorCode: null, durationMs: 1, traceId: null, call }) as const

  it("builds no line", () => {
    assert.isNull(requestLog("info")(answered(200, null)))
    assert.isNull(requestLog("info")(answered(200, { ...change, changes: false })))
    assert.isNotNull(requestLog("info")(answered(201, change)))
    assert.isNull(requestLog("warn")(answered(201, change)))
    assert.isNotNull(requestLog("warn")(answered(502, null)))
    assert.isNull(requestLog("error")(answered(500, change)))
  })

  it("an outage is logged once, not for each request during it", () => {
    assert.isNull(requestLog("info")(answered(503, null)))
    assert.isNull(requestLog("warn")(answered(503, change)))
  })

  it.effect("a request without a key is logged with its session", () =>
    Effect.gen(function* () {
      lines.length = 0
      yield* (requestLog("info")(answered(201, change)) ?? Effect.void).pipe(Effect.provide(Logger.layer([remember])))
      const { annotations } = JSON.parse(lines[0]!) as Line
      assert.deepInclude(annotations, { accountId: "acc_1", sessionId: "ses_1" })
      assert.notProperty(annotations, "keyHint")
    })
  )
})
