/** Every request gets an answer that the OpenAPI lists, and never a 500. A failing case prints its seed. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import fc from "fast-check"
import { ErrorBody } from "../../../../schemas/Errors.ts"
import { type Answer, TestApi } from "../../../support/http/TestApi.ts"

const isErrorBody = Schema.is(ErrorBody)

const noOperation = "op_00000000000000000000000000000000"

const calls = [
  "/workspaces",
  "/sandboxes",
  "/sandboxes/{id}/start",
  "/sandboxes/{id}/execute",
  "/sandboxes/{id}/operations",
  `/sandboxes/{id}/operations/${noOperation}/wait`
]

const lists = [
  "/sandboxes",
  "/sandboxes/{id}/transitions",
  "/sandboxes/{id}/history",
  "/sandboxes/{id}/operations",
  `/sandboxes/{id}/operations/${noOperation}/output`
]

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom("\0", "\ud800", "__proto__", "constructor", "true", "")
)

/** Near the contract's shapes: its field names, with values of any kind. */
const nearBody = fc.dictionary(
  fc.oneof(
    fc.constantFrom(
      "name",
      "workspaceId",
      "metadata",
      "networkEnabled",
      "argv",
      "cwd",
      "env",
      "stdin",
      "encoding",
      "timeoutSeconds",
      "stdoutOffset",
      "__proto__"
    ),
    text
  ),
  fc.oneof(
    text,
    fc.array(text, { maxLength: 4 }),
    fc.dictionary(text, text, { maxKeys: 4 }),
    fc.double(),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.jsonValue({ maxDepth: 3 })
  ),
  { maxKeys: 8 }
)

/** JSON.stringify writes a __proto__ that is an own property, and lone surrogates as escapes. */
const body = fc.oneof(
  { weight: 6, arbitrary: nearBody.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) }
)

const query = fc
  .dictionary(
    fc.oneof(
      fc.constantFrom("limit", "cursor", "status", "workspaceId", "metadata.a", "metadata.", "stream", "offset"),
      text
    ),
    fc.oneof(text, fc.integer().map(String), fc.constantFrom("stdout", "running", "1", "0", "9007199254740991")),
    { maxKeys: 4 }
  )
  .map((pairs) =>
    Object.entries(pairs)
      .map(([key, value]) => `${encodeURIComponent(key.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`)
      .join("&")
  )

const sane = (answer: Answer, allowed: ReadonlyArray<number>) => {
  assert.include(allowed, answer.status, answer.text)
  if (answer.status >= 400) assert.isTrue(isErrorBody(answer.json), answer.text)
}

layer(TestApi.layer({ ATOLL_SANDBOXES_PER_ACCOUNT: "200" }), { excludeTestServices: true })(
  "the service answers fuzzed",
  (it) => {
    const withSandbox = <A>(
      test: (api: TestApi["Service"], at: (path: string) => string, workspaceId: string) => Promise<A>
    ) =>
      Effect.flatMap(TestApi, (api) =>
        Effect.promise(async () => {
          const workspaceId = await api.newWorkspace()
          const id = await api.newSandbox(workspaceId)
          return test(api, (path) => `/api/v2${path.replace("{id}", id)}`, workspaceId)
        })
      )

    it.effect("bodies", () =>
      withSandbox((api, at, workspaceId) =>
        fc.assert(
          fc.asyncProperty(fc.constantFrom(...calls), body, fc.boolean(), async (path, sent, isCompleted) => {
            // So that half of them are wrong only in the generated part.
            const completed = (given: string | Buffer) =>
              isCompleted && typeof given === "string" && given.startsWith('{"')
                ? `{"workspaceId":"${workspaceId}","argv":["echo"],${given.slice(1)}`
                : given
            const headers = { "idempotency-key": Math.random().toString(36) }
            sane(
              await api.send("POST", at(path), { body: completed(sent), headers }),
              [200, 201, 202, 400, 404, 409, 429]
            )
          }),
          { numRuns: 300 }
        )
      )
    )

    it.effect("queries", () =>
      withSandbox((api, at) =>
        fc.assert(
          fc.asyncProperty(fc.constantFrom(...lists), query, async (path, sent) => {
            sane(await api.send("GET", `${at(path)}?${sent}`), [200, 400, 404])
          }),
          { numRuns: 200 }
        )
      )
    )

    it.effect("unknown names", () =>
      withSandbox((api, at, workspaceId) =>
        fc.assert(
          fc.asyncProperty(
            fc.constantFrom(...calls),
            text,
            fc.jsonValue({ maxDepth: 1 }),
            async (path, name, value) => {
              const known = ["workspaceId", "argv", "name", "cwd", "env", "stdin", "encoding", "timeoutSeconds"]
              fc.pre(![...known, "networkEnabled", "metadata", "stdoutOffset", "stderrOffset"].includes(name))
              const valid = path.endsWith("sandboxes")
                ? { workspaceId }
                : path.endsWith("workspaces")
                  ? { name: "n" }
                  : {}
              const whole = /execute$|operations$/.test(path) ? { argv: ["echo"] } : valid
              const fields = [...Object.entries(whole), [name, value]].map((pair) =>
                pair.map((one) => JSON.stringify(one)).join(":")
              )
              const headers = { "idempotency-key": Math.random().toString(36) }
              const ofBody = await api.send("POST", at(path), { body: `{${fields.join(",")}}`, headers })
              sane(ofBody, [400])
              assert.deepStrictEqual(ofBody.json.details.issues[0].path, [name])
              const query = encodeURIComponent(name.toWellFormed())
              const ofQuery = await api.send("POST", `${at(path)}?${query}=`, { body: whole, headers })
              sane(ofQuery, [400])
              assert.deepStrictEqual(ofQuery.json.details.issues[0].path, [name.toWellFormed()])
            }
          ),
          { numRuns: 150 }
        )
      )
    )

    it.effect("bytes on the wire", () =>
      withSandbox((api, at) =>
        fc.assert(
          fc.asyncProperty(
            fc.constantFrom("GET", "POST", "DELETE", "BREW", "get", "OPTIONS"),
            fc.string({ unit: "binary-ascii", maxLength: 30 }),
            fc.array(fc.string({ unit: "binary-ascii", maxLength: 20 }), { maxLength: 3 }),
            async (method, path, headers) => {
              const target = path.replace(/[\r\n ]/g, "")
              const answer = await api.raw(
                `${method} ${at("/sandboxes/")}${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers
                  .map((header) => `x-h: ${header.replace(/[\r\n]/g, "")}\r\n`)
                  .join("")}\r\n`,
                2000
              )
              const [, status, payload] = /^HTTP\/1\.1 (\d+).*?\r\n\r\n(.*)$/s.exec(answer) ?? []
              assert.include(["204", "400", "401", "404", "405"], status, answer)
              if (status !== "204") assert.isTrue(isErrorBody(JSON.parse(payload!)), answer)
            }
          ),
          { numRuns: 150 }
        )
      )
    )
  }
)
