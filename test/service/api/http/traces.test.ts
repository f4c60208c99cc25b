/** One trace from a request through its commits and commands to the runtime and the guest. */
import { randomBytes, randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger } from "effect"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { hang } from "../../../support/http/commands.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { SpanCollector } from "../../../support/SpanCollector.ts"
import { SpanRecorder } from "../../../support/SpanRecorder.ts"
import type { SpansSeen } from "../../../support/SpanSeen.ts"
import { linesWith, remember } from "../../../support/serviceLog.ts"
import { untilFound } from "../../../support/until.ts"

const recorder = new SpanRecorder()
/** The spans of all processes of a fleet. */
const collector = new SpanCollector()
const collectorAddress = "192.0.2.80"
const recorded: SpansSeen = isOverAFleet ? collector : recorder

const logged = { ATOLL_LOG_LEVEL: "info" }

const overAFleet = Effect.map(collector.listen, (port) =>
  TestApi.layer({ ...logged, OTEL_EXPORTER_OTLP_ENDPOINT: `http://${collectorAddress}:${port}` }, [collectorAddress])
)

const inProcess = () => TestApi.layer(logged).pipe(Layer.provide(Layer.merge(recorder.layer, Logger.layer([remember]))))

const traced = isOverAFleet ? Layer.unwrap(overAFleet) : inProcess()

const newTrace = () => ({ traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") })

const until = (what: string, holds: () => boolean, seen: () => unknown = () => "") =>
  untilFound(holds, { otherwise: () => `${what}: ${JSON.stringify(seen())}` })

layer(traced, { excludeTestServices: true })("a trace", (it) => {
  const of = (traceId: string) => recorded.seen.filter((span) => span.traceId === traceId)

  /** The paths of all spans of that name in that trace, through every process. */
  const ways = (traceId: string, name: string) =>
    of(traceId)
      .filter((span) => span.name === name)
      .map((span) =>
        span
          .way()
          .filter((part) => !/^\w+(\.client)?\.Deliver$/.test(part))
          .join(" < ")
      )

  /** Waits for a span of that name with that path; the spans of another process arrive a moment later. */
  const untilWay = (traceId: string, name: string, way: string) => {
    const found = () => ways(traceId, name)
    return until(way, () => found().includes(way), found)
  }

  const create = async ({ send, newWorkspace }: TestApi["Service"], traceparent: string, requestId = randomUUID()) => {
    const workspaceId = await newWorkspace()
    const made = await send("POST", "/api/v2/sandboxes?wait=running", {
      body: { workspaceId, metadata: { a: "private" } },
      headers: { "idempotency-key": randomUUID(), "x-request-id": requestId, traceparent }
    })
    assert.strictEqual(made.json.sandbox?.status, "running", made.text)
    return made.json.sandbox.id as string
  }

  it.effect("of a create has the boot, its result, and the statement that stored it", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      yield* Effect.promise(async () => {
        const { traceId, spanId } = newTrace()
        await create(api, `00-${traceId}-${spanId}-01`)
        const request = `POST /api/v2/sandboxes < ${spanId}`
        const command = `ActorHost.command < Sandboxes.create < ${request}`
        // The request's span gets its route as its name when it ends, and the command ends by itself.
        await until("the request's span has ended", () => ways(traceId, "POST /api/v2/sandboxes").length === 1)
        await untilWay(traceId, "Runtime.provision", `Runtime.provision < ${command}`)
        await untilWay(traceId, "ActorHost.commit", `ActorHost.commit < ${command}`)
        await untilWay(traceId, "Journal.write", `Journal.write < ActorHost.commit < ${command}`)
        await untilWay(traceId, "sql.with", `sql.with < Journal.write < ActorHost.commit < ${command}`)
        const commit = of(traceId).find(({ attributes }) => attributes.get("event") === "RUNTIME_UP")
        assert.strictEqual(commit?.attributes.get("to"), "running")
      })
    })
  )

  it.effect("goes on after its request was answered, and ends with the work that the request started", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const sandboxId = yield* Effect.promise(() => create(api, ""))
      yield* Effect.promise(async () => {
        const { traceId, spanId } = newTrace()
        const path = `/api/v2/sandboxes/${sandboxId}/operations`
        const headers = { "idempotency-key": randomUUID(), traceparent: `00-${traceId}-${spanId}-01` }
        const started = await api.send("POST", path, { body: { argv: hang }, headers })
        assert.strictEqual(started.status, 202, started.text)
        const request = `POST /api/v2/sandboxes/:id/operations < ${spanId}`
        const asked = () => [...ways(traceId, "Guest.run"), ...ways(traceId, "Guest.start")]
        await until("the guest is asked", () => asked().length > 0)

        const cancel = newTrace()
        await api.send("POST", `${path}/${started.json.operation.id}/cancel`, {
          headers: { traceparent: `00-${cancel.traceId}-${cancel.spanId}-01` }
        })
        await until("the cancelling is committed in its own trace", () =>
          of(cancel.traceId).some(({ attributes }) => attributes.get("event") === "CANCEL")
        )
        const commits = () => ways(cancel.traceId, "ActorHost.commit")
        const ofCancel = new RegExp(`^ActorHost.commit < .*POST /api/v2/.*/cancel < ${cancel.spanId}$`)
        await until("it is the request's", () => ofCancel.test(commits()[0]!), commits)
        // The spans of a running command arrive from another process once it has ended.
        const wanted = `ActorHost.command < Operations.start < ${request}`
        await until("it was asked for that request", () => asked()[0]!.endsWith(wanted), asked)
        await until("what the first request started is over", () => of(traceId).every(({ hasEnded }) => hasEnded))
      })
    })
  )

  it.effect("has its id in the log line of its request, and has the request's id", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      yield* Effect.promise(async () => {
        const { traceId, spanId } = newTrace()
        const requestId = randomUUID()
        await create(api, `00-${traceId}-${spanId}-01`, requestId)
        const [line] = (await linesWith(requestId)).map((text) => JSON.parse(text).annotations)
        assert.deepInclude(line, { requestId, traceId })
        await until("the span has its name", () => ways(traceId, "POST /api/v2/sandboxes").length === 1)
        const [request] = of(traceId).filter(({ name }) => name === "POST /api/v2/sandboxes")
        assert.strictEqual(request!.attributes.get("atoll.request_id"), requestId)
      })
    })
  )

  it.effect(
    "takes the caller's id only from a well-formed traceparent, and does not exist where the caller does not sample",
    () =>
      Effect.gen(function* () {
        const { send } = yield* TestApi
        yield* Effect.promise(async () => {
          const ask = async (traceparent: string) => {
            const requestId = randomUUID()
            await send("GET", "/api/v2/me", { headers: { traceparent, "x-request-id": requestId } })
            return () => recorded.seen.find(({ attributes }) => attributes.get("atoll.request_id") === requestId)
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
            const own = await ask(garbage)
            await until("the request has a separate trace", () => own() !== undefined)
            assert.notStrictEqual(own()!.traceId, traceId, garbage)
          }
          assert.isUndefined(unsampled())
          assert.isEmpty(of(traceId))
          const unknownFlags = await ask(`00-${traceId}-${spanId}-ff`)
          await until("only the sampled flag counts", () => unknownFlags()?.traceId === traceId)
        })
      })
  )

  it.effect("holds no path, query, key, body or capability", () =>
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
        await until("the spans have ended", () => recorded.seen.some((span) => span.name === name))
        const all = recorded.seen.flatMap((span) => [span.name, ...span.attributes.values()]).join("\n")
        for (const secret of [id, api.key, "private"]) assert.notInclude(all, secret)
      })
    })
  )

  it.effect("of a request answered 5xx holds only that fact", () =>
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

  it.effect("does not exist for the service's background work", () =>
    Effect.sync(() => {
      const parts = recorded.seen.filter(({ name }) => /^(?:sql|Guest|Runtime|Journal)\b/.test(name))
      assert.isNotEmpty(parts)
      assert.deepStrictEqual(
        parts.filter((span) => span.way().length === 1).map(({ name }) => name),
        []
      )
    })
  )
})
