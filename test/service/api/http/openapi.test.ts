/**
 * The published description: a linter finds no error in it, it agrees with the contract, and the server agrees with it.
 */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"
import { type ErrorCode, errorStatus } from "../../../../schemas/Errors.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const linter = join(dirname(createRequire(import.meta.url).resolve("@redocly/cli/package.json")), "bin/cli.js")

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description: string
  readonly security: ReadonlyArray<unknown>
  readonly tags: ReadonlyArray<string>
  readonly parameters: ReadonlyArray<{ name: string; in: string; required: boolean; schema: Record<string, unknown> }>
  readonly requestBody?: { readonly required: boolean }
  readonly responses: Record<
    string,
    {
      readonly description?: string
      readonly headers?: object
      readonly content?: Record<string, { schema: object; examples?: object }>
    }
  >
}

interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly tags: ReadonlyArray<{ readonly name: string }>
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    readonly schemas: Record<string, object>
    readonly headers: Record<string, { readonly required?: boolean }>
    readonly securitySchemes: object
  }
}

/** contract.md "Endpoints": success and other statuses; the statuses of contract-details.md that are not among them. */
const contract: Record<string, ReadonlyArray<number>> = {
  "get /openapi.json": [200],
  "delete /auth": [204, 401, 403],
  "get /me": [200, 401, 403],
  "get /usage": [200, 400, 401, 403],
  "get /usage/balance": [200, 401, 403],
  "get /usage/transactions": [200, 400, 401, 403],
  "get /usage/costs": [200, 400, 401, 403],
  "get /workspaces": [200, 401, 403],
  "post /workspaces": [201, 400, 401, 403, 409, 413, 415],
  "get /workspaces/{id}": [200, 401, 403, 404],
  "patch /workspaces/{id}": [200, 400, 401, 403, 404, 413, 415],
  "delete /workspaces/{id}": [204, 401, 403, 404, 409],
  "get /sandboxes": [200, 401, 403],
  "post /sandboxes": [201, 202, 400, 401, 402, 403, 404, 409, 413, 415, 429, 501, 502],
  "get /sandboxes/{id}": [200, 401, 403, 404, 501, 502],
  "delete /sandboxes/{id}": [204, 401, 403, 404, 501, 502],
  "post /sandboxes/{id}/start": [201, 400, 401, 402, 403, 404, 413, 415, 429, 501, 502],
  "post /sandboxes/{id}/stop": [200, 401, 403, 404, 502],
  "get /sandboxes/{id}/transitions": [200, 400, 401, 403, 404],
  "post /sandboxes/{id}/execute": [200, 400, 401, 402, 403, 404, 408, 413, 415, 501, 502],
  "post /sandboxes/{id}/operations": [202, 400, 401, 402, 403, 404, 409, 413, 415, 501, 502],
  "get /sandboxes/{id}/operations": [200, 400, 401, 403, 404],
  "get /sandboxes/{id}/operations/{operationId}": [200, 401, 403, 404, 501, 502],
  "get /sandboxes/{id}/operations/{operationId}/output": [200, 400, 401, 403, 404, 501, 502],
  "post /sandboxes/{id}/operations/{operationId}/wait": [200, 400, 401, 403, 404, 413, 415, 501, 502],
  "post /sandboxes/{id}/operations/{operationId}/cancel": [200, 401, 403, 404, 501, 502],
  "get /sandboxes/{id}/operations/{operationId}/transitions": [200, 400, 401, 403, 404],
  "get /sandboxes/{id}/operations/{operationId}/declined": [200, 401, 403, 404]
}

/** contract.md "Resources and their fields": the names of the interface. */
const named = [
  "Error",
  "Me",
  "Workspace",
  "Sandbox",
  "CreateWorkspaceRequest",
  "CreateSandboxRequest",
  "StartSandboxRequest",
  "ExecuteRequest",
  "ExecutionResult",
  "StartOperationRequest",
  "OperationResponse",
  "WaitOperationRequest",
  "OperationOutputChunk"
]

const operationsOf = (document: Pick<Document, "paths">) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation }))
  )

const fetched = async ({ send }: TestApi["Service"]): Promise<Document> =>
  (await send("GET", "/api/v2/openapi.json", { key: null })).json

layer(TestApi.layer(), { excludeTestServices: true })("the OpenAPI description", (it) => {
  it.effect("passes a strict linter, examples included", () =>
    withApi(async (api) => {
      const folder = await mkdtemp(join(tmpdir(), "atoll-openapi-"))
      try {
        const file = join(folder, "openapi.json")
        await writeFile(file, JSON.stringify(await fetched(api)))
        const { stdout } = await promisify(execFile)(
          process.execPath,
          [linter, "lint", "--extends=recommended-strict", "--format=json", file],
          {
            cwd: folder,
            maxBuffer: 16 * 1024 * 1024,
            env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" }
          }
        )
        assert.deepStrictEqual(JSON.parse(stdout).totals, { errors: 0, warnings: 0, ignored: 0 }, stdout)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  )

  it.effect("is version 2.0.0, cacheable JSON, the same for every caller", () =>
    withApi(async ({ send }) => {
      const open = await send("GET", "/api/v2/openapi.json", { key: null })
      assert.deepStrictEqual([open.status, open.headers["content-type"]], [200, "application/json"])
      assert.match(String(open.headers["cache-control"]), /max-age=\d+/)
      assert.strictEqual((await send("GET", "/api/v2/openapi.json", { key: "nonsense" })).text, open.text)
      assert.deepStrictEqual([open.json.openapi, open.json.info.version], ["3.1.0", "2.0.0"])
    })
  )

  it.effect("is the description that every exchange of every test is compared with (test/support/described/)", () =>
    withApi(async (api) => assert.deepStrictEqual(JSON.parse(inject("description")), await fetched(api)))
  )

  it.effect("has all statuses of every endpoint of the contract, each error with the Error body", () =>
    withApi(async (api) => {
      const document = await fetched(api)
      for (const [call, statuses] of Object.entries(contract)) {
        const [method, path] = call.split(" ") as [string, string]
        const operation = document.paths[`/api/v2${path}`]?.[method]
        assert.isDefined(operation, call)
        assert.includeMembers(Object.keys(operation!.responses).map(Number), [...statuses], call)
      }
      for (const { path, method, operation } of operationsOf(document)) {
        for (const [status, response] of Object.entries(operation.responses)) {
          assert.property(response.headers ?? {}, "X-Request-Id", `${method} ${path} ${status}`)
          if (Number(status) < 400) continue
          const { schema, examples } = response.content!["application/json"]!
          assert.deepStrictEqual(schema, { $ref: "#/components/schemas/Error" })
          for (const code of Object.keys(examples!)) {
            if (status === "431") assert.strictEqual(code, "INVALID_REQUEST")
            else if (status !== "default") assert.strictEqual(errorStatus[code as ErrorCode], Number(status), code)
            assert.include(response.description, status === "default" ? "Error" : `\`${code}\``)
          }
        }
      }
    })
  )

  it.effect("every operation says what becomes of a URL and headers that are too long, and that is so", () =>
    withApi(async (api) => {
      const document = await fetched(api)
      for (const { path, method, operation } of operationsOf(document)) {
        assert.property(operation.responses, "431", `${method} ${path}`)
        const target = path.replaceAll(/\{\w+\}/g, "x")
        const head = `${method.toUpperCase()} ${target}?${"x".repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`
        const answer = await api.raw(head)
        assert.match(answer, /^HTTP\/1.1 431 /, `${method} ${path}`)
        assert.strictEqual(JSON.parse(answer.split("\r\n\r\n")[1]!).code, "INVALID_REQUEST")
      }
    })
  )

  it.effect(
    "mentions unknown outcomes in the 500, 502 and 503 of each call that changes something, and of no other",
    () =>
      withApi(async (api) => {
        const reads = ["waitOperation", "lookUpPreview", "lookUpServiceAccess", "regrantConnection"]
        for (const { path, method, operation } of operationsOf(await fetched(api))) {
          const mayChange = method !== "get" && !reads.includes(operation.operationId)
          for (const status of ["500", "502", "503"]) {
            const response = operation.responses[status]
            if (response === undefined) continue
            const said = response.description ?? ""
            assert.strictEqual(said.includes("details.outcome"), mayChange, `${method} ${path} ${status}`)
            assert.strictEqual(
              "Retry-After" in (response.headers ?? {}),
              status === "503",
              `${method} ${path} ${status}`
            )
          }
        }
      })
  )

  it.effect("lists 402 for the calls that the contract names and no other, and 403 for all that need a key", () =>
    withApi(async (api) => {
      const operations = operationsOf(await fetched(api)).map(({ operation }) => operation)
      const having = (status: string) =>
        operations.filter(({ responses }) => status in responses).map(({ operationId }) => operationId)
      assert.sameMembers(having("402"), [
        "createSandbox",
        "createSnapshot",
        "pullImage",
        "uploadImage",
        "buildImage",
        "importSnapshot",
        "forkSandbox",
        "rollbackSandbox",
        "startSandbox",
        "execute",
        "startOperation",
        "openTerminal",
        "writeFile",
        "editFile",
        "createDirectory",
        "renameFile",
        "uploadArchive"
      ])
      assert.sameMembers(
        having("403"),
        operations
          .filter(({ security }) => security.some((one) => "apiKey" in (one as object)))
          .map(({ operationId }) => operationId)
      )
    })
  )

  it.effect(
    "names schemas as the contract does, once each; answers are open to fields of later versions, requests are closed",
    () =>
      withApi(async (api) => {
        const document = await fetched(api)
        const names = Object.keys(document.components.schemas)
        assert.deepStrictEqual(
          names.filter((name) => /_\d+$|Encoded$/.test(name)),
          []
        )
        assert.deepInclude(document.components.schemas["StartSandboxRequest"], { type: "object" })
        assert.includeMembers(Object.keys(document.components.schemas), named)
        const closed = (schema: object | undefined) => JSON.stringify(schema).includes('"additionalProperties":false')
        for (const [name, schema] of Object.entries(document.components.schemas)) {
          assert.strictEqual(closed(schema), /Request$|ConnectionKeys$/.test(name), name)
        }
        for (const { operation } of operationsOf(document)) assert.isFalse(closed(operation.responses))
      })
  )

  it.effect(
    "gives every operation a distinct id, a summary and a security scheme, except for the descriptions of the API and of its machines",
    () =>
      withApi(async (api) => {
        const document = await fetched(api)
        const operations = operationsOf(document)
        assert.strictEqual(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
        const tags = document.tags.map(({ name }) => name)
        for (const { path, operation } of operations) {
          assert.isString(operation.summary, path)
          assert.isAbove(operation.description.replace(/Needs the scope `.*`\./, "").length, 0, path)
          assert.strictEqual(operation.tags.filter((tag) => tags.includes(tag)).length, 1, path)
          if (["getOpenApi", "listMachines"].includes(operation.operationId)) {
            assert.deepStrictEqual(operation.security, [])
          } else if (operation.operationId === "openTunnel") {
            assert.deepStrictEqual(operation.security, [{ capability: [] }])
          } else {
            const [, scope] = /Needs the scope `([a-z]+:[a-z]+)`\./.exec(operation.description)!
            assert.deepStrictEqual(operation.security, [{ apiKey: [scope] }], path)
          }
        }
      })
  )

  it.effect("gives parameters their types, bounds and defaults", () =>
    withApi(async (api) => {
      const document = await fetched(api)
      const parameters = (call: string) => {
        const [method, path] = call.split(" ") as [string, string]
        return Object.fromEntries<Record<string, unknown>>(
          document.paths[`/api/v2${path}`]![method]!.parameters.map(({ name, required, schema }) => [
            name,
            { required, ...schema }
          ])
        )
      }
      const output = parameters("get /sandboxes/{id}/operations/{operationId}/output")
      assert.deepInclude(output["offset"]!, { required: true, type: "integer", minimum: 0, maximum: 9007199254740991 })
      assert.deepInclude(output["limit"]!, {
        required: false,
        type: "integer",
        minimum: 1,
        maximum: 262144,
        default: 65536
      })
      assert.deepInclude(parameters("post /workspaces")["Idempotency-Key"]!, { required: true, type: "string" })
      assert.deepInclude(parameters("post /sandboxes/{id}/start")["Idempotency-Key"]!, { required: false })
      assert.isFalse(document.paths["/api/v2/sandboxes/{id}/start"]!["post"]!.requestBody!.required)
      assert.isTrue(document.paths["/api/v2/sandboxes"]!["post"]!.requestBody!.required)
    })
  )

  it.effect("gives an answer's headers the contract's names and types, and numbers are finite", () =>
    withApi(async (api) => {
      const document = await fetched(api)
      assert.notInclude(JSON.stringify(document), "Infinity")
      const headers = document.paths["/api/v2/sandboxes/{id}/files/content"]!["get"]!.responses["200"]!
        .headers as Record<string, { readonly schema?: object }>
      assert.deepInclude(headers["Accept-Ranges"]!.schema, { enum: ["bytes"] })
      for (const name of ["X-Service-Offset", "X-Service-Next-Offset", "X-Service-File-Size"]) {
        assert.deepStrictEqual(headers[name]!.schema, { type: "integer", minimum: 0, format: "int64" }, name)
      }
      assert.deepStrictEqual(headers["X-Service-EOF"]!.schema, { type: "boolean" })
      assert.deepStrictEqual(headers["X-Service-Next-Cursor"]!.schema, { type: "string" })
    })
  )

  it.effect(
    "requires headers that every answer or every 401 has; Allow is documented for requests that no endpoint takes",
    () =>
      withApi(async (api) => {
        const document = await fetched(api)
        const { RequestId, WwwAuthenticate } = document.components.headers
        assert.deepInclude(RequestId, { required: true })
        assert.deepInclude(WwwAuthenticate, { required: true })
        for (const { path, operation } of operationsOf(document)) {
          assert.property(operation.responses["default"]!.headers, "Allow", path)
        }
      })
  )

  it.effect("allows an instant in a query without seconds, as the contract does", () =>
    withApi(async (api) => {
      const { parameters } = (await fetched(api)).paths["/api/v2/sandboxes/{id}/logs"]!["get"]!
      const { schema } = parameters.find(({ name }) => name === "since")!
      assert.strictEqual(schema["type"], "string")
      const pattern = new RegExp(String(schema["pattern"]), "u")
      for (const text of ["2026-01-31T12:00Z", "2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00.5Z"]) {
        assert.match(text, pattern)
      }
      for (const text of ["2026-01-31", "2026-01-31T12:00", "2026-01-31 12:00Z"]) assert.notMatch(text, pattern)
    })
  )

  it.effect("publishes each pattern that the service checks", () =>
    withApi(async (api) => {
      const document = await fetched(api)
      const schemas = document.components.schemas as Record<string, { readonly pattern?: string }>
      for (const name of ["SandboxId", "WorkspaceId", "OperationId", "WorkspacePath"]) {
        assert.isString(schemas[name]?.pattern, name)
      }
      const parameters = document.paths["/api/v2/workspaces"]!["post"]!.parameters
      assert.isString(parameters.find(({ name }) => name === "Idempotency-Key")!.schema["pattern"])
    })
  )

  it.effect("lists each code with its status and its details", () =>
    withApi(async (api) => {
      const { description } = (await fetched(api)).components.schemas["Error"] as { readonly description: string }
      for (const [code, status] of Object.entries(errorStatus)) {
        assert.include(description, `| \`${code}\` | ${status} |`)
      }
      assert.include(description, "| `SCOPE_REQUIRED` | 403 | scope |")
    })
  )

  it.effect("lists exactly the endpoints that exist, each with the key that it needs", () =>
    withApi(async (api) => {
      const { "/api/v2/tunnel": _ofAGateway, ...paths } = (await fetched(api)).paths
      for (const { path, method, operation } of operationsOf({ paths })) {
        const answer = await api.send(method.toUpperCase(), path.replace(/\{\w+\}/g, "x"), { key: null })
        assert.strictEqual(answer.status, operation.security.length === 0 ? 200 : 401, `${method} ${path}`)
      }
      for (const path of Object.keys(paths)) {
        const options = await api.send("OPTIONS", path.replace(/\{\w+\}/g, "x"), { key: null })
        const methods = Object.keys(paths[path]!).map((method) => method.toUpperCase())
        const allowed = String(options.headers.allow).split(", ")
        assert.includeMembers(allowed, methods, path)
      }
    })
  )
})
