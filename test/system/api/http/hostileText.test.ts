/**
 * Every text field of every endpoint of the API, and of every tool of MCP, with malicious text: the answer is a success
 * or a typed refusal, and the service goes on.
 * The fields come from the OpenAPI description and the list of tools, so a new field is tested automatically.
 */
import { type IncomingMessage, request } from "node:http"
import { connect } from "node:net"
import { text as textOf } from "node:stream/consumers"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Api } from "../../../../schemas/Api.ts"
import { ErrorBody } from "../../../../schemas/Errors.ts"
import { openApiDocument } from "../../../../schemas/OpenApiDocument.ts"
import type { Contents, Operation, Parameter } from "../../../support/described/Description.ts"
import type { Json } from "../../../support/described/Schemas.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { type McpClient, presentClient } from "../../../support/mcp/McpClients.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { hostileTexts, type TextField, textFields, withText } from "./hostileTexts.ts"

const isErrorBody = Schema.is(ErrorBody)
const answerWithinMs = 60_000
/** No request line is longer. */
const headMaxBytes = 16 * 1024

const document = openApiDocument(Api) as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}
const meant = (reference: string): Json => document.components.schemas[reference.split("/").at(-1)!]!

/** UTF-8, with half a surrogate pair as the three bytes that WTF-8 gives it. */
const bytesOf = (text: string): Buffer =>
  Buffer.concat(
    Array.from(text, (character) => {
      const code = character.codePointAt(0)!
      return code >= 0xd800 && code <= 0xdfff
        ? Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)])
        : Buffer.from(character)
    })
  )

const encoded = (text: string): string =>
  /^x+$/.test(text) ? text : Array.from(bytesOf(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")

interface Asked {
  readonly method: string
  /** As encoded on the wire. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

interface Told {
  readonly status: number
  readonly text: string
}

/** Sends by hand what no HTTP client sends. The service answers in the middle of it, and reads no more of it. */
const askByHand = async (port: number, key: string, { method, path, headers }: Asked): Promise<Told> => {
  const socket = connect(port, "127.0.0.1")
  const pieces: Array<Buffer> = []
  socket.on("data", (piece) => pieces.push(piece))
  let fault: Error | null = null
  socket.on("error", (error) => {
    fault = error
  })
  socket.setTimeout(answerWithinMs, () => socket.destroy(new Error("There is no answer.")))
  const lines = Object.entries({ host: "127.0.0.1", connection: "close", authorization: `Bearer ${key}`, ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  socket.write(`${method} ${path} HTTP/1.1\r\n${head}content-length: 0\r\n\r\n`, "latin1")
  await new Promise((resolve) => socket.on("close", resolve))
  const answer = Buffer.concat(pieces).toString()
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(answer) ?? []
  if (status === undefined) throw fault ?? new Error(`It was answered with ${JSON.stringify(answer)}.`)
  return { status: Number(status), text: /\{.*\}/s.exec(answer)?.[0] ?? answer }
}

/** A stream of events is an answer as soon as it has begun. */
const ask = ({ port, key }: ServedAtoll["Service"], asked: Asked): Promise<Told> => {
  const { method, path, headers, body } = asked
  // A malformed request is answered before it is a request, so its answer is not in the description.
  if ([path, ...Object.values(headers)].some((value) => value.includes("\0") || value.length > headMaxBytes)) {
    return askByHand(port, key, asked)
  }
  const length = body === null ? {} : { "content-length": body.length }
  return new Promise((resolve, reject) => {
    const sent = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      agent: false,
      headers: { authorization: `Bearer ${key}`, ...headers, ...length }
    })
    const timer = setTimeout(() => sent.destroy(new Error("There is no answer.")), answerWithinMs)
    sent.on("error", reject)
    sent.on("close", () => clearTimeout(timer))
    sent.on("response", (answer: IncomingMessage) => {
      if (answer.headers["content-type"]?.startsWith("text/event-stream") === true) {
        resolve({ status: answer.statusCode!, text: "" })
        sent.destroy()
      } else textOf(answer).then((text) => resolve({ status: answer.statusCode!, text }), reject)
    })
    sent.end(body ?? undefined)
  })
}

/** Fails for every answer that is neither a success nor a typed refusal. */
const isAnswered = ({ status, text }: Told, what: string): void => {
  if (status >= 200 && status < 300) return
  const told = `${what}: ${status} ${text.slice(0, 500)}`
  // 426: it needs a WebSocket. 501: the service does not offer it.
  assert.isTrue((status >= 400 && status < 500) || status === 501, told)
  assert.isTrue(isErrorBody(JSON.parse(text)), told)
}

/** A request with one wrong text; the others are the description's own examples, or name existing resources. */
const requestsOf = function* (
  method: string,
  template: string,
  { parameters, requestBody }: Operation,
  ids: Readonly<Record<string, string>>
): Generator<readonly [field: string, ask: (text: string) => Asked]> {
  const [type, content] = Object.entries((requestBody?.content ?? {}) as Contents)[0] ?? []
  const example = (content as { readonly example?: unknown } | undefined)?.example
  const idOf = (name: string) =>
    name === "id" && template.startsWith("/api/v2/workspaces") ? ids["workspaceId"] : ids[name]
  const exampleOf = ({ schema }: Parameter): string => {
    const plain = typeof schema["$ref"] === "string" ? meant(schema["$ref"]) : schema
    const [first] = [plain["examples"], plain["enum"]].flatMap((list) => (Array.isArray(list) ? [list[0]] : []))
    return String(first ?? plain["default"] ?? plain["minimum"] ?? "text")
  }
  const built = (wrong: Parameter | null, text: string, body: unknown): Asked => {
    let path = template
    const query: Array<string> = []
    const headers: Record<string, string> = {}
    for (const parameter of parameters) {
      const { name, in: place, required } = parameter
      if (parameter !== wrong && required !== true) continue
      const value = parameter === wrong ? text : (idOf(name) ?? exampleOf(parameter))
      if (place === "path") path = path.replace(`{${name}}`, encoded(value))
      else if (place === "query") query.push(`${name === "metadata" ? "metadata.key" : name}=${encoded(value)}`)
      else headers[name] = bytesOf(value).toString("latin1")
    }
    if (type !== undefined) headers["content-type"] = type
    const bytes =
      type === undefined
        ? null
        : type === "application/json"
          ? Buffer.from(JSON.stringify(body))
          : bytesOf(String(body))
    return { method, path: query.length === 0 ? path : `${path}?${query.join("&")}`, headers, body: bytes }
  }
  const own = {
    ...(example as object),
    ...("workspaceId" in Object(example) ? { workspaceId: ids["workspaceId"] } : {})
  }
  const valid = type === "application/json" ? own : ""
  for (const parameter of parameters) {
    if (!textFields(parameter.schema, meant).length) continue
    yield [`${parameter.in} ${parameter.name}`, (text) => built(parameter, text, valid)]
  }
  if (content === undefined) return
  for (const field of textFields(content.schema, meant)) {
    yield [
      `body ${field.path.join(".")}${field.isKey ? " (key)" : ""}`,
      (text) => built(null, "", withText(valid, field, text))
    ]
  }
}

/** A value that a tool accepts. */
const sampleOf = (schema: Json): unknown => {
  const { examples, enum: values, type, minimum, properties, required } = schema
  if (Array.isArray(examples)) return examples[0]
  if (Array.isArray(values)) return values[0]
  if (type === "array") return [sampleOf(schema["items"] as Json)]
  if (type === "integer" || type === "number") return minimum ?? 1
  if (type === "boolean") return false
  if (type === "string") return "text"
  const names = Array.isArray(required) ? (required as ReadonlyArray<string>) : []
  return Object.fromEntries(names.map((name) => [name, sampleOf((properties as Record<string, Json>)[name]!)]))
}

/** Alternatives of a tool's input. */
const instead: Readonly<Record<string, Json>> = { run: { argv: ["true"] } }
const instances = (field: TextField, given: Json): Json =>
  field.path[0] === "command" ? Object.fromEntries(Object.entries(given).filter(([name]) => name !== "argv")) : given

const isFaultOfOurs = /^(?:INTERNAL|CLEANUP_PENDING|\w+_UNAVAILABLE)$/

const small = {
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  ATOLL_SERVICE_ACCESS: "on",
  ATOLL_COOPERATIVE: "on",
  ATOLL_SSH_PORT: "0"
}

interface Made {
  readonly id: string
  readonly workspaceId: string
  readonly operationId: string
}

describe.skipIf(skipped(unusable))("malicious text", () => {
  layer(ServedAtoll.layer(freshDriver(small), small).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    let made: Promise<Made> | null = null
    /** One Sandbox with an operation, for all. */
    const things = (served: ServedAtoll["Service"]): Promise<Made> => {
      const make = async (): Promise<Made> => {
        const id = await served.newSandbox()
        const { json } = await served.send("GET", `/api/v2/sandboxes/${id}`)
        const started = await served.send("POST", `/api/v2/sandboxes/${id}/operations`, {
          headers: { "Idempotency-Key": id },
          body: { argv: ["true"] }
        })
        return { id, workspaceId: json.sandbox.workspaceId, operationId: started.json.operation.id }
      }
      made ??= make()
      return made
    }

    const isWell = async ({ send }: ServedAtoll["Service"], { id }: Made): Promise<void> => {
      assert.strictEqual((await send("GET", "/healthz", { key: null })).status, 200)
      assert.strictEqual(
        (await send("POST", `/api/v2/sandboxes/${id}/execute`, { body: { argv: ["true"] } })).status,
        200
      )
    }

    /** The resources that it made after all. */
    const removed = async ({ send }: ServedAtoll["Service"], made: Made): Promise<void> => {
      const { json } = await send("GET", "/api/v2/sandboxes?status=running,pending,stopped")
      for (const { id } of json.sandboxes) if (id !== made.id) await send("DELETE", `/api/v2/sandboxes/${id}`)
      for (const { id, sandboxCount } of (await send("GET", "/api/v2/workspaces")).json.workspaces) {
        if (id !== made.workspaceId && sandboxCount === 0) await send("DELETE", `/api/v2/workspaces/${id}`)
      }
    }

    for (const [template, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        it.effect(`is accepted or refused in every field by ${operation.operationId}`, () =>
          Effect.gen(function* () {
            const served = yield* ServedAtoll
            yield* Effect.promise(async () => {
              const ids = await things(served)
              for (const [field, askWith] of requestsOf(method.toUpperCase(), template, operation, { ...ids })) {
                for (const [name, text] of Object.entries(hostileTexts)) {
                  isAnswered(await ask(served, askWith(text)), `${operation.operationId}, ${field}, ${name}`)
                }
                await removed(served, ids)
              }
              await isWell(served, ids)
            })
          })
        )
      }
    }

    it("is tried in the text fields of the whole description", () => {
      const nothing = { id: "sbx_", workspaceId: "wsp_", operationId: "op_" }
      const found = Object.entries(document.paths).flatMap(([template, methods]) =>
        Object.entries(methods).flatMap(([method, operation]) =>
          Array.from(requestsOf(method, template, operation, nothing), ([field]) => `${operation.operationId} ${field}`)
        )
      )
      assert.includeMembers(found, [
        "createSandbox body metadata (key)",
        "createSandbox body metadata.key",
        "execute body argv.0",
        "startOperation header Idempotency-Key",
        "renameFile query path",
        "listSandboxes query metadata",
        "writeFile body ",
        "grantConnection body publicKeys.0"
      ])
      assert.isAbove(found.length, 100)
    })

    it.effect("is accepted or refused in every field by every tool of MCP", () =>
      Effect.gen(function* () {
        const served = yield* ServedAtoll
        yield* Effect.promise(async () => {
          const ids = await things(served)
          const client: McpClient = await presentClient(`http://127.0.0.1:${served.port}`, served.key)
          let tried = 0
          for (const { name: tool, inputSchema } of await client.tools()) {
            const base = { ...(sampleOf(inputSchema) as Json), ...instead[tool] }
            const own =
              "sandboxId" in base && tool !== "delete_sandbox" && tool !== "stop_sandbox" ? { sandboxId: ids.id } : {}
            for (const field of textFields(inputSchema, meant)) {
              for (const [name, text] of Object.entries(hostileTexts)) {
                const given = withText(instances(field, { ...base, ...own }), field, text) as Json
                const what = `${tool}, ${field.path.join(".")}, ${name}`
                const { isError, answer, text: told } = await client.call(tool, given)
                tried++
                if (!isError) continue
                assert.isTrue(isErrorBody(answer), `${what}: ${told.slice(0, 500)}`)
                assert.notMatch(answer.code, isFaultOfOurs, `${what}: ${told.slice(0, 500)}`)
              }
              await removed(served, ids)
            }
          }
          assert.isAbove(tried, 100)
          await isWell(served, ids)
          await client.close()
        })
      })
    )
  })
})
