/**
 * The examples of the published description: every request and every answer has one, the endpoint's own schema accepts
 * those of answers, and the service accepts the requests as they stand. (A linter compares them with the published
 * schemas in openapi.test.ts.)
 */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Result, Schema, SchemaAST } from "effect"
import { WebSocket } from "ws"
import { ErrorBody } from "../../../../schemas/Errors.ts"
import { snapshotMediaType } from "../../../../schemas/SnapshotFile.ts"
import { endpointNamed } from "../../../../src/api/http/Endpoints.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { type Answer, type Ask, TestApi } from "../../../support/http/TestApi.ts"
import { snapshotFile } from "../../../support/snapshot/snapshotFile.ts"
import { untilSeen } from "../../../support/until.ts"

interface MediaType {
  readonly schema: object
  readonly example?: unknown
  readonly examples?: Record<string, { readonly $ref: string }>
}

interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required: boolean
  readonly description?: string
  readonly example?: unknown
  readonly schema: Record<string, unknown>
}

interface Operation {
  readonly operationId: string
  readonly description: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Record<string, MediaType> }
  readonly responses: Record<string, { readonly description: string; readonly content?: Record<string, MediaType> }>
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly tags: ReadonlyArray<{ readonly description?: string }>
  readonly components: {
    readonly schemas: Record<string, Record<string, unknown>>
    readonly examples: Record<string, { readonly value: unknown }>
  }
}

const withDocument = <A>(test: (document: Document, api: TestApi["Service"]) => Promise<A> | A) =>
  Effect.flatMap(TestApi, (api) =>
    Effect.promise(async () => test((await api.send("GET", "/api/v2/openapi.json", { key: null })).json, api))
  )

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation }))
  )

/** A successful answer of an endpoint, as it is encoded on the wire. */
const answersOf = (operationId: string) =>
  [...endpointNamed(operationId).success].map(({ ast }) => Schema.make<Schema.Codec<unknown>>(SchemaAST.toEncoded(ast)))

/** Null for an answer of the endpoint without undescribed fields; else the fault. */
const faultOf = (operationId: string, given: unknown): string | null => {
  const faults = answersOf(operationId).map((schema) =>
    Result.getFailure(Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })(given))
  )
  return faults.some(Option.isNone) ? null : faults.map(String).join()
}

type Described = ReturnType<typeof operationsOf>[number]

const required = ({ operation }: Described, place: Parameter["in"]) =>
  operation.parameters.filter((one) => one.in === place && one.required)

/** Of a JSON body. */
const fieldsOf = ({ components }: Document, { operation }: Described): ReadonlyArray<string> => {
  const { $ref } = (operation.requestBody?.content["application/json"]?.schema ?? {}) as { readonly $ref?: string }
  return Object.keys(components.schemas[$ref?.split("/").at(-1) ?? ""]?.["properties"] ?? {})
}

/** Path and query of the examples, and the query's other parameters. */
const targetOf = (one: Described, more?: string): string => {
  const query = required(one, "query").map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
  const path = required(one, "path").reduce(
    (whole, { name, example }) => whole.replace(`{${name}}`, String(example)),
    one.path
  )
  return `${path}?${[...query, ...(more === undefined ? [] : [more])].join("&")}`
}

/** The request that the examples make, with `change` applied. */
const sent = (
  api: TestApi["Service"],
  one: Described,
  change: { readonly query?: string; readonly field?: string; readonly key?: string } = {}
): Promise<Answer> => {
  const { method, operation } = one
  const [[mediaType, body] = []] = Object.entries(operation.requestBody?.content ?? {})
  const example = mediaType === "application/json" ? { ...(body!.example as object) } : body?.example
  if (change.field !== undefined) Object.assign(example as object, { [change.field]: true })
  return api.send(method, targetOf(one, change.query), {
    ...(change.key === undefined ? {} : { key: change.key }),
    ...(example === undefined ? {} : { body: example }),
    headers: {
      ...(mediaType === undefined ? {} : { "content-type": mediaType }),
      ...(required(one, "header").length === 0 ? {} : { "idempotency-key": randomUUID() })
    }
  })
}

/** The status for calls that are not simple: one would end all others, one never ends, and one needs a handshake. */
const special: Readonly<Record<string, (api: TestApi["Service"], one: Described) => Promise<number>>> = {
  revokeKey: async (api, one) => {
    const { secret: key } = await api.newKey(["sandbox:read"])
    return (await sent(api, one, { key })).status
  },
  // Its example is no file: what is read of a real one is its workspace, which is another's.
  importSnapshot: async ({ send }, one) => {
    const headers = { "content-type": snapshotMediaType }
    return (await send("POST", targetOf(one), { body: await snapshotFile(), headers })).status
  },
  streamEvents: async ({ port, key }, one) => {
    const client = new EventClient(port, targetOf(one), { authorization: `Bearer ${key}` })
    await client.until(() => client.status > 0)
    client.close()
    return client.status
  },
  openTerminal: async ({ port, key }, one) => {
    const headers = { authorization: `Bearer ${key}` }
    const socket = new WebSocket(`ws://127.0.0.1:${port}${targetOf(one)}`, { headers })
    const [, answer] = await once(socket, "unexpected-response")
    answer.resume()
    return answer.statusCode
  }
}

layer(TestApi.layer(), { excludeTestServices: true })("the description's examples", (it) => {
  it.effect(
    "come with a description of every property, parameter and tag; integers have a width; no field has a default",
    () =>
      withDocument((document) => {
        const { schemas } = document.components
        const isDescribed = (schema: Record<string, unknown>): boolean =>
          typeof schema["description"] === "string" ||
          (typeof schema["$ref"] === "string" && isDescribed(schemas[schema["$ref"].split("/").at(-1)!]!))
        const walk = (schema: unknown, at: string): void => {
          if (typeof schema !== "object" || schema === null) return
          const { properties, type, format } = schema as Record<string, unknown>
          if (type === "integer") assert.include(["int32", "int64"], format, at)
          assert.notInclude(["byte"], format, at)
          for (const [name, property] of Object.entries(
            (properties ?? {}) as Record<string, Record<string, unknown>>
          )) {
            assert.isTrue(isDescribed(property), `${at}.${name}`)
            assert.notProperty(property, "default", `${at}.${name}`)
          }
          for (const [key, part] of Object.entries(schema)) if (key !== "examples") walk(part, `${at}.${key}`)
        }
        walk(schemas, "schemas")
        for (const { description } of document.tags) assert.isString(description)
        for (const { operation } of operationsOf(document)) {
          assert.match(operation.operationId, /^[a-z]+([A-Z][a-z]*)*$/)
          for (const parameter of operation.parameters) {
            assert.isTrue(
              isDescribed({ ...parameter.schema, ...parameter }),
              `${operation.operationId} ${parameter.name}`
            )
          }
        }
      })
  )

  it.effect("cover every content, and every object in an answer has a name", () =>
    withDocument((document) => {
      for (const { operation } of operationsOf(document)) {
        const answers = Object.entries(operation.responses)
        for (const [status, { content = {} }] of [...answers, ["request", operation.requestBody ?? {}] as const]) {
          for (const [mediaType, told] of Object.entries(content)) {
            const at = `${operation.operationId} ${status} ${mediaType}`
            assert.isTrue("example" in told || Object.keys(told.examples ?? {}).length > 0, at)
            for (const [, event] of String(told.example).matchAll(/^event: (.*)$/gm)) {
              assert.match(operation.description, new RegExp(`\`(?:event: )?${event}\``), at)
            }
            if (mediaType !== "application/json" || operation.operationId === "getOpenApi") continue
            assert.property(told.schema, "$ref", at)
          }
        }
      }
    })
  )

  it.effect("of answers, errors included, are accepted by the endpoint's own schemas", () =>
    withDocument((document) => {
      for (const { operation } of operationsOf(document)) {
        for (const [status, { content = {} }] of Object.entries(operation.responses)) {
          const json = content["application/json"]
          if (json === undefined || status === "default" || Number(status) >= 400) continue
          assert.isNull(faultOf(operation.operationId, json.example), `${operation.operationId} ${status}`)
        }
      }
      const isErrorBody = Schema.is(ErrorBody)
      for (const [name, { value }] of Object.entries(document.components.examples)) {
        assert.isTrue(isErrorBody(value), name)
      }
    })
  )

  it.effect(
    "of requests are accepted by the service, which names the nearest field or parameter for a misspelt one",
    () =>
      withDocument(async (document, api) => {
        for (const one of operationsOf(document)) {
          const { operationId, requestBody, parameters } = one.operation
          // Its gateway stands before the API and has its own tests.
          if (operationId === "openTunnel") continue
          const status = (await special[operationId]?.(api, one)) ?? (await sent(api, one)).status
          assert.isTrue(status < 300 || status === 404, `${operationId}: ${status}`)
          const refused = async (change: Parameters<typeof sent>[2], name: string, message: RegExp) => {
            const { status, json, text } = await sent(api, one, change)
            assert.deepStrictEqual([status, json?.code], [400, "INVALID_REQUEST"], `${operationId} ${name}: ${text}`)
            assert.deepStrictEqual(json.details.issues[0].path, [name], operationId)
            assert.match(json.details.issues[0].message, message, operationId)
          }
          await refused({ query: "xyzzy=1" }, "xyzzy", /^Not known\./)
          if (requestBody?.content["application/json"] !== undefined) {
            await refused({ field: "xyzzy" }, "xyzzy", /^Not known\./)
          }
          const misspelt = (name: string) =>
            [`${name}x`, new RegExp(`^Not known\\. The nearest name is ${name}\\.$`)] as const
          for (const { name } of parameters.filter(
            ({ in: place, schema }) => place === "query" && schema["type"] !== "object"
          )) {
            const [wrong, message] = misspelt(name)
            await refused({ query: `${wrong}=1` }, wrong, message)
          }
          for (const name of fieldsOf(document, one)) {
            const [wrong, message] = misspelt(name)
            await refused({ field: wrong }, wrong, message)
          }
          for (const { name, schema, required } of parameters.filter((given) => given.in === "query")) {
            if (schema["type"] === "array" || schema["type"] === "object") continue
            await refused({ query: required ? `${name}=x` : `${name}=x&${name}=x` }, name, /^Given more than once$/)
          }
        }
      })
  )

  it.effect("list exactly the fields that the service answers", () =>
    withDocument(async (document, { send, newWorkspace, newSandbox }) => {
      const workspaceId = await newWorkspace()
      const id = await newSandbox(workspaceId)
      const seen = new Set<string>()
      const held = async (operationId: string, method: string, path: string, ask: Ask = {}) => {
        const answer = await send(method, `/api/v2${path}`, ask)
        assert.isBelow(answer.status, 300, `${operationId}: ${answer.text}`)
        assert.isNull(faultOf(operationId, answer.json), `${operationId}: ${answer.text}`)
        seen.add(operationId)
        return answer.json
      }
      const headers = () => ({ "idempotency-key": randomUUID() })
      const sandbox = `/sandboxes/${id}`
      const argv = ["echo", "hello"]
      await held("createWorkspace", "POST", "/workspaces", { body: { name: "a" }, headers: headers() })
      await held("renameWorkspace", "PATCH", `/workspaces/${workspaceId}`, { body: { name: "b" } })
      await held("createSandbox", "POST", "/sandboxes", { body: { workspaceId }, headers: headers() })
      await held("updateSandbox", "PATCH", sandbox, { body: { metadata: { team: "blue" } } })
      await held("execute", "POST", `${sandbox}/execute`, { body: { argv } })
      const { operation } = await held("startOperation", "POST", `${sandbox}/operations`, {
        body: { argv },
        headers: headers()
      })
      const started = `${sandbox}/operations/${operation.id}`
      await held("waitOperation", "POST", `${started}/wait`, { body: { timeoutSeconds: 1 } })
      await held("cancelOperation", "POST", `${started}/cancel`)
      await held("createPreview", "POST", `${sandbox}/previews`, { body: { port: 3000 } })
      const { snapshot } = await held("createSnapshot", "POST", `${sandbox}/snapshots`)
      await held("updateSnapshot", "PATCH", `/snapshots/${snapshot.id}`, { body: { name: "c" } })
      await held("forkSandbox", "POST", `${sandbox}/fork`, { body: { count: 1 }, headers: headers() })
      const { image } = await held("pullImage", "POST", "/images", { body: { reference: "registry.test/tools:1" } })
      const built = await held("pullImage", "POST", "/images", { body: { dockerfile: "FROM scratch" } })
      const idIn = (path: string) =>
        path.includes("/workspaces/")
          ? workspaceId
          : path.includes("/snapshots/")
            ? snapshot.id
            : path.includes("/images/")
              ? (path.includes("/build/") ? built.image : image).id
              : id
      // Simulated machines cannot answer it, or its answer does not end.
      const others = ["getOpenApi", "openTerminal", "openTunnel", "statFile", "listFiles", "listProcesses"]
      for (const { path, method, operation: one } of operationsOf(document)) {
        if (method !== "GET" || others.includes(one.operationId)) continue
        if (!("application/json" in (one.responses["200"]?.content ?? {}))) continue
        const at = path.slice("/api/v2".length).replace("{operationId}", operation.id).replace("{id}", idIn(path))
        await held(
          one.operationId,
          method,
          `${at}${/^read\w+Output$/.test(one.operationId) ? "?stream=stdout&offset=0" : ""}`
        )
      }
      await untilSeen(
        () => send("GET", `/api/v2/snapshots/${snapshot.id}`),
        ({ json }) => json.snapshot.status === "ready"
      )
      const rolled = { body: { snapshotId: snapshot.id }, headers: headers() }
      await held("rollbackSandbox", "POST", `${sandbox}/rollback`, rolled)
      await untilSeen(
        () => send("GET", `/api/v2${sandbox}`),
        ({ json }) => json.sandbox.status === "running"
      )
      await held("stopSandbox", "POST", `${sandbox}/stop`)
      await held("startSandbox", "POST", `${sandbox}/start`)
      assert.isAtLeast(seen.size, 30)
    })
  )

  it.effect("403 for a missing scope names the scope, in the sentence too", () =>
    withDocument(async (document, api) => {
      const { secret: key } = await api.newKey(["usage:read"])
      for (const one of operationsOf(document).filter(({ path }) => /\/(me|auth|sandboxes|workspaces)$/.test(path))) {
        const { status, json } = await sent(api, one, { key })
        assert.deepStrictEqual([status, json.code], [403, "SCOPE_REQUIRED"])
        assert.include(json.message, `the scope ${json.details.scope}.`)
      }
    })
  )

  it.effect("the filter status takes several values, repeated or with commas", () =>
    withDocument(async (_, api) => {
      const workspaceId = await api.newWorkspace()
      const [first, second, third] = [
        await api.newSandbox(workspaceId),
        await api.newSandbox(workspaceId),
        await api.newSandbox(workspaceId)
      ]
      await api.send("POST", `/api/v2/sandboxes/${second}/stop`)
      await api.send("DELETE", `/api/v2/sandboxes/${third}`)
      const listed = async (query: string) =>
        (await api.send("GET", `/api/v2/sandboxes?${query}`)).json.sandboxes
          .map(({ id }: { readonly id: string }) => id)
          .filter((id: string) => [first, second, third].includes(id))
      assert.deepStrictEqual(await listed("status=running"), [first])
      assert.deepStrictEqual(await listed("status=running,stopped"), [second, first])
      assert.deepStrictEqual(await listed("status=deleted&status=running"), [third, first])
      assert.deepStrictEqual(await listed(""), [third, second, first])
    })
  )
})
