/**
 * The client of a collector that is away, slow, or back: its log lines, the batches that it keeps, and the exporter's
 * results.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Logger } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { boundedCollector } from "../../../../src/platform/trace/Collector.ts"

type Behaviour = "serves" | "refuses" | "hangs" | "answers 503"

/** A collector under the test's control, the client before it, and its log lines. */
const collector = (first: Behaviour) => {
  const state = { does: first, posts: 0, open: 0 }
  const said: Array<string> = []
  const log = Logger.layer([Logger.make(({ logLevel, message }) => void said.push(`${logLevel} ${String(message)}`))])
  const fake = HttpClient.make((request) =>
    Effect.suspend(() => {
      state.posts++
      switch (state.does) {
        case "serves":
          return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("{}")))
        case "answers 503":
          return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: 503 })))
        case "hangs":
          state.open++
          return Effect.ensuring(
            Effect.never,
            Effect.sync(() => {
              state.open--
            })
          )
        case "refuses": {
          const cause = new TypeError("fetch failed http://u:secret@x", {
            cause: Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:4318"), { code: "ECONNREFUSED" })
          })
          return Effect.fail(
            new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
          )
        }
      }
    })
  )
  const client = boundedCollector("collector:4318")(fake)
  const post = client.execute(HttpClientRequest.post("http://collector:4318/v1/traces")).pipe(
    Effect.map(({ status }) => status),
    Effect.provide(log)
  )
  /** Even when it is sent twice. */
  const posted = Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(post)
    yield* TestClock.adjust("30 seconds")
    return yield* Fiber.join(fiber)
  })
  return { state, said, post, posted }
}

it.effect("an absent collector is logged once, its return once, and its next absence again", () =>
  Effect.gen(function* () {
    const { state, said, posted } = collector("refuses")
    for (let batch = 0; batch < 20; batch++) assert.strictEqual(yield* posted, 204)
    assert.deepStrictEqual(said, [
      "Warn The collector of traces at collector:4318 (OTEL_EXPORTER_OTLP_ENDPOINT) does not take them: ECONNREFUSED. They are dropped until it does."
    ])
    state.does = "serves"
    for (let batch = 0; batch < 5; batch++) assert.strictEqual(yield* posted, 204)
    assert.lengthOf(said, 2)
    assert.match(said[1]!, /^Info The collector of traces at collector:4318 takes them again, after \d+ s\.$/)
    state.does = "answers 503"
    for (let batch = 0; batch < 5; batch++) assert.strictEqual(yield* posted, 204)
    assert.lengthOf(said, 3)
    assert.include(said[2], "it answers 503")
  })
)

it.effect("while the collector is away batches are dropped immediately, except one in five seconds", () =>
  Effect.gen(function* () {
    const { state, post, posted } = collector("refuses")
    yield* posted
    assert.strictEqual(state.posts, 2)
    for (let batch = 0; batch < 100; batch++) yield* post
    assert.strictEqual(state.posts, 3)
    yield* TestClock.adjust("5 seconds")
    yield* post
    yield* post
    assert.strictEqual(state.posts, 4)
  })
)

it.effect("one failure of the collector is no absence", () =>
  Effect.gen(function* () {
    const { state, said, post } = collector("refuses")
    const fiber = yield* Effect.forkChild(post)
    yield* TestClock.adjust("500 millis")
    state.does = "serves"
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(fiber), 204)
    assert.deepStrictEqual([state.posts, said], [2, []])
  })
)

it.effect("a collector that does not answer holds four batches and no more, for seconds", () =>
  Effect.gen(function* () {
    const { state, said, post } = collector("hangs")
    const batches = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.forkChild(post))
    yield* Effect.yieldNow
    assert.strictEqual(state.open, 4)
    yield* TestClock.adjust("1 minute")
    for (const batch of batches) assert.strictEqual(yield* Fiber.join(batch), 204)
    assert.strictEqual(state.open, 0)
    assert.lengthOf(said, 1)
    assert.include(said[0], "it does not answer within 10 s")
    assert.notInclude(said.join(), "secret")
  })
)
