/** One trace from a request over the commits and commands that it leads to, down to the runtime and the guest. */
import { randomBytes, randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger } from "effect"
import { SpanRecorder } from "../support/SpanRecorder.ts"
import { TestApi } from "./TestApi.ts"

const recorder = new SpanRecorder()
const lines: Array<string> = []

const remember = Logger.make((entry) => {
  lines.push(Logger.formatJson.log(entry) as string)
})

const traced = TestApi.layer({ ATOLL_LOG_LEVEL: "info" }).pipe(
  Layer.provide(Layer.merge(recorder.layer, Logger.layer([remember])))
)

const newTrace = () => ({ traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") })

const until = async (what: string, holds: () => boolean): Promise<void> => {
  const began = performance.now()
  while (!holds()) {
    assert.isBelow(performance.now() - began, 60_000, what)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

layer(traced, { excludeTestServices: true })("a trace", (it) => {
  /** The ways of all spans of that name in that trace. */
  const ways = (traceId: string, name: string) =>
    recorder
      .of(traceId)
      .filter((span) => span.name === name)
      .map((span) => recorder.way(span).join(" < "))

  const create = async ({ send, newWorkspace }: TestApi["Service"], traceparent: string, requestId = randomUUID()) => {
    const workspaceId = await newWorkspace()
    const made = await send("POST", "/api/v2/sandboxes?wait=running", {
      body: { workspaceId, metadata: { a: "private" } },
      headers: { "idempotency-key": randomUUID(), "x-request-id": requestId, traceparent }
    })
    assert.strictEqual(made.json.sandbox?.status, "running", made.text)
    return made.json.sandbox.id as string
  }

  it.effect("of a create has the boot, what came of it, and the statement that stored it", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      yield* Effect.promise(async () => {
        const { traceId, spanId } = newTrace()
        await create(api, `00-${traceId}-${spanId}-01`)
        const request = `POST /api/v2/sandboxes < ${spanId}`
        const command = `ActorHost.command < Sandboxes.create < ${request}`
        // The request's span is called by its route once it ends, and the command ends by itself.
        await until("the request's span has ended", () => ways(traceId, "POST /api/v2/sandboxes").length === 1)
        assert.include(ways(traceId, "Runtime.provision"), `Runtime.provision < ${command}`)
        assert.include(ways(traceId, "ActorHost.commit"), `ActorHost.commit < ${command}`)
        assert.include(ways(traceId, "Journal.write"), `Journal.write < ActorHost.commit < ${command}`)
        assert.include(ways(traceId, "sql.with"), `sql.with < Journal.write < ActorHost.commit < ${command}`)
        const commit = recorder.of(traceId).find(({ attributes }) => attributes.get("event") === "RUNTIME_UP")
        assert.strictEqual(commit?.attributes.get("to"), "running")
      })
    })
  )

  it.effect("goes on when its request has been answered, and ends with what that started", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const sandboxId = yield* Effect.promise(() => create(api, ""))
      yield* Effect.promise(async () => {
        const { traceId, spanId } = newTrace()
        const path = `/api/v2/sandboxes/${sandboxId}/operations`
        const headers = { "idempotency-key": randomUUID(), traceparent: `00-${traceId}-${spanId}-01` }
        const started = await api.send("POST", path, { body: { argv: ["hang"] }, headers })
        assert.strictEqual(started.status, 202, started.text)
        const request = `POST /api/v2/sandboxes/:id/operations < ${spanId}`
        await until(
          "the guest is asked",
          () => ways(traceId, "Guest.run").length + ways(traceId, "Guest.start").length > 0
        )
        const [asked = ""] = [...ways(traceId, "Guest.run"), ...ways(traceId, "Guest.start")]
        assert.isTrue(asked.endsWith(`ActorHost.command < Operations.start < ${request}`), asked)

        const cancel = newTrace()
        await api.send("POST", `${path}/${started.json.operation.id}/cancel`, {
          headers: { traceparent: `00-${cancel.traceId}-${cancel.spanId}-01` }
        })
        await until("the cancelling is committed in its own trace", () =>
          recorder.of(cancel.traceId).some(({ attributes }) => attributes.get("event") === "CANCEL")
        )
        const [commit] = ways(cancel.traceId, "ActorHost.commit")
        assert.match(commit!, new RegExp(`^ActorHost.commit < .*POST /api/v2/.*/cancel < ${cancel.spanId}$`))
        await until("what the first request started is over", () =>
          recorder.of(traceId).every(({ status }) => status._tag === "Ended")
        )
      })
    })
  )

  it.effect("is what the log says of its request, and knows the request's id", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      yield* Effect.promise(async () => {
        const { traceId, spanId } = newTrace()
        const requestId = randomUUID()
        await create(api, `00-${traceId}-${spanId}-01`, requestId)
        const line = lines
          .map((text) => JSON.parse(text).annotations)
          .find((annotations) => annotations.requestId === requestId)
        assert.strictEqual(line?.traceId, traceId)
        await until("the span has its name", () => ways(traceId, "POST /api/v2/sandboxes").length === 1)
        const [request] = recorder.of(traceId).filter(({ name }) => name === "POST /api/v2/sandboxes")
        assert.strictEqual(request!.attributes.get("atoll.request_id"), requestId)
      })
    })
  )

  it.effect(
    "is the caller's only where its traceparent is well formed, and none where the caller does not sample",
    () =>
      Effect.gen(function* () {
        const { send } = yield* TestApi
        yield* Effect.promise(async () => {
          const ask = async (traceparent: string) => {
            const requestId = randomUUID()
            const before = recorder.spans.length
            await send("GET", "/api/v2/me", { headers: { traceparent, "x-request-id": requestId } })
            const own = () => recorder.spans.find(({ attributes }) => attributes.get("atoll.request_id") === requestId)
            return { own, before }
          }
          const { traceId, spanId } = newTrace()
          const unsampled = await ask(`00-${traceId}-${spanId}-00`)
          for (const garbage of [
            `00-${"0".repeat(32)}-${spanId}-01`,
            `00-${traceId.toUpperCase().replace(/^./, "G")}-${spanId}-01`,
            `ff-${traceId}-${spanId}-01`,
            `00-${traceId}-${spanId}`,
            `00-${traceId}-${spanId}-01, x`,
            "x".repeat(10_000)
          ]) {
            const { own } = await ask(garbage)
            await until("the request has a trace of its own", () => own() !== undefined)
            assert.notStrictEqual(own()!.traceId, traceId, garbage)
          }
          assert.isUndefined(unsampled.own())
          assert.isEmpty(recorder.of(traceId))
          const unknownFlags = await ask(`00-${traceId}-${spanId}-ff`)
          await until("only the sampled flag counts", () => unknownFlags.own()?.traceId === traceId)
        })
      })
  )

  it.effect("has no path, no query, no key, no body and no capability", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      yield* Effect.promise(async () => {
        const sandboxId = await create(api, "")
        const path = `/api/v2/sandboxes/${sandboxId}/previews`
        const opened = await api.send("POST", path, { body: { port: 3000 } })
        const { id } = opened.json.preview
        await api.send("GET", "/api/v2/sandboxes?metadata.a=private")
        await api.send("DELETE", `${path}/${id}`)
        await api.send("GET", `/api/v2/sandboxes/${sandboxId}/files/content?path=/workspace/private`)
        const name = "DELETE /api/v2/sandboxes/:id/previews/:previewId"
        await until("the spans have ended", () => recorder.spans.some((span) => span.name === name))
        const all = recorder.spans.flatMap((span) => [span.name, ...span.attributes.values()]).join("\n")
        for (const secret of [id, api.key, "private"]) assert.notInclude(all, secret)
      })
    })
  )

  it.effect("says of a request that was answered 5xx only that it was", () =>
    Effect.sync(() => {
      const mine = new SpanRecorder()
      const span = mine.request("http.server DELETE")
      span.end(1n, Exit.fail(new Error("ResponseError: 502 DELETE /api/v2/sandboxes/x/previews/secret")))
      const { status } = mine.spans[0]!
      assert.isTrue(status._tag === "Ended" && Exit.isFailure(status.exit))
      assert.notInclude(
        status._tag === "Ended" && Exit.isFailure(status.exit) ? Cause.pretty(status.exit.cause) : "",
        "secret"
      )
    })
  )

  it.effect("is none of the service's own work", () =>
    Effect.sync(() => {
      const parts = recorder.spans.filter(({ name }) => /^(?:sql|Guest|Runtime|Journal)\b/.test(name))
      assert.isNotEmpty(parts)
      assert.deepStrictEqual(
        parts.filter((span) => recorder.way(span).length === 1).map(({ name }) => name),
        []
      )
    })
  )
})
