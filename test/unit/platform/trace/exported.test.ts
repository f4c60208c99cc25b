/** What a collector gets from a service with OTEL_EXPORTER_OTLP_ENDPOINT, and what a service without it does. */
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { traces } from "../../../../src/app/Traces.ts"
import { asPart, tracing } from "../../../../src/platform/trace/Tracing.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const posts: Array<{ readonly request: IncomingMessage; readonly body: string }> = []
    const server = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      posts.push({ request, body })
      response.end("{}")
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    return { posts, server, port: (server.address() as { port: number }).port }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

const tracesTo = (endpoint: string) =>
  traces.pipe(Layer.provide(testSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })))

it.live("spans go to the path below the endpoint, with the credentials as a header and nowhere else", () =>
  Effect.gen(function* () {
    const { posts, port } = yield* collector
    const work = Effect.void.pipe(
      asPart("part", {}),
      Effect.withSpan("whole"),
      Effect.provide(tracesTo(`http://someone:hunter%402@127.0.0.1:${port}/otlp/`))
    )
    // A stop gives the last spans three seconds, which may be too little on a busy machine.
    while (posts.length === 0) yield* work
    const [{ request, body }] = posts as [(typeof posts)[0]]
    assert.strictEqual(request.url, "/otlp/v1/traces")
    assert.strictEqual(request.headers.authorization, `Basic ${btoa("someone:hunter@2")}`)
    const [part, whole] = JSON.parse(body).resourceSpans[0].scopeSpans[0].spans
    assert.deepStrictEqual([part.name, whole.name], ["part", "whole"])
    assert.deepStrictEqual([part.parentSpanId, part.traceId], [whole.spanId, whole.traceId])
    assert.notInclude(body, "hunter")
  })
)

it.live("an absent collector is named without its password, and a stop does not wait for it", () =>
  Effect.gen(function* () {
    const said: Array<string> = []
    const { port, server } = yield* collector
    server.close()
    yield* Effect.promise(() => once(server, "close"))
    const work = Effect.void.pipe(
      Effect.withSpan("whole"),
      Effect.provide(
        tracesTo(`http://someone:hunter2@127.0.0.1:${port}`).pipe(
          Layer.provide(Logger.layer([Logger.make(({ message }) => void said.push(String(message)))]))
        )
      )
    )
    while (said.length === 0) yield* work
    assert.lengthOf(said, 1)
    assert.include(said[0], `127.0.0.1:${port}`)
    assert.notInclude(said[0], "hunter2")
  })
)

it.live("a service without a collector traces nothing", () =>
  Effect.gen(function* () {
    assert.isNull(yield* tracing)
    const { traceId } = yield* Effect.withSpan(Effect.orDie(Effect.currentSpan), "whole")
    assert.strictEqual(traceId, "noop")
  }).pipe(Effect.provide(tracesTo("")))
)

it.live("a service with a collector traces", () =>
  Effect.gen(function* () {
    const { port } = yield* collector
    yield* Effect.gen(function* () {
      assert.isNotNull(yield* tracing)
    }).pipe(Effect.provide(tracesTo(`http://127.0.0.1:${port}`)))
  })
)
