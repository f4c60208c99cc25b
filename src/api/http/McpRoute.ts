/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, for callers with an API key. One message a request, one response, no state.
 *
 * The checks are those of the API's endpoints (EndpointGuard.ts), in the same order after a check of the Origin. Each tool needs the scope of the
 * equivalent endpoint, and the audit log records its calls under that endpoint's name. A refusal before the message is read has the Error
 * body. A failure in a tool goes to its model in the result, in the same words.
 *
 * @source https://modelcontextprotocol.io/specification/2026-07-28/basic/transports; contract-details.md "Order of checks"
 */
import type { IncomingMessage } from "node:http"
import { Cause, Context, Effect, Layer, type Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { RequiredScope } from "../../../schemas/Access.ts"
import {
  AccountSuspended,
  type ContractError,
  CrossSiteRequest,
  type ErrorCode,
  type InvalidRequest,
  ScopeRequired,
  Unauthenticated
} from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import { Authentication, type Credential } from "../../account/Authentication.ts"
import { Settings } from "../../Config.ts"
import { ChangeWitness } from "../../store/Change.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { answerMessage } from "../mcp/exchange.ts"
import type { Tool } from "../mcp/Tool.ts"
import { Tools } from "../mcp/Tools.ts"
import { type AuditedEndpoint, auditedEndpoint } from "./AuditedEndpoint.ts"
import { noteCaller, noteTarget } from "./AuditedRequest.ts"
import { noteBegun } from "./BegunRequest.ts"
import { bearerOf } from "./bearerOf.ts"
import { endpointNamed } from "./Endpoints.ts"
import { errorBody, fromIssue, invalidRequest, tellsError } from "./ErrorResponse.ts"
import { faultError } from "./faultError.ts"
import { readJsonText } from "./JsonBody.ts"
import { refuseQuery } from "./KnownQuery.ts"
import { requestIdOf } from "./RequestId.ts"
import { serviceVersion } from "./serviceVersion.ts"

export const mcpPath = "/mcp"

/** A whole written file is in one message. */
const messageMaxBytes = 4 * 1024 * 1024
const noQuery = { names: [], repeatable: [], prefix: null }

type Arguments = Readonly<Record<string, unknown>>

interface AdmittedTool extends Tool {
  readonly scope: RequiredScope["Service"]
  /** Null: its calls leave no event. */
  readonly audited: AuditedEndpoint | null
  readonly endpoint: HttpApiEndpoint.Top
}

const admittedTool = (tool: Tool): AdmittedTool => {
  const endpoint = endpointNamed(tool.action)
  return {
    ...tool,
    scope: Context.get(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope),
    audited: auditedEndpoint(endpoint),
    endpoint
  }
}

/** The path of the equivalent API call; a malformed id stays as it is, and is not shown. */
const apiPathOf = ({ endpoint }: AdmittedTool, given: Arguments): string =>
  endpoint.path.replace(/:(\w+)/g, (_, name: string) => {
    const id = given[name === "id" ? "sandboxId" : name]
    return typeof id === "string" && /^\w+$/.test(id) ? id : "-"
  })

/** The endpoint's event with the path of MCP. */
const auditedAs = (audited: AuditedEndpoint, apiPath: string): AuditedEndpoint => ({
  ...audited,
  read: () => ({ ...audited.read(apiPath), path: mcpPath })
})

const addresses = /^(?:localhost|127\.\d+\.\d+\.\d+|\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\])$/

/**
 * Programs send no Origin. A page's Origin must be this service's own, by a name that others cannot point to this service: the name of
 * ATOLL_PUBLIC_URL, or an IP address.
 */
const isOwnOrigin = ({ headers: { origin, host } }: IncomingMessage, publicUrl: string | null): boolean => {
  if (origin === undefined) return true
  const url = URL.parse(origin)
  if (url === null) return false
  if (publicUrl !== null && url.origin === URL.parse(publicUrl)?.origin) return true
  return url.host === host?.toLowerCase() && addresses.test(url.hostname)
}

const foreignPage = Effect.fail(
  new CrossSiteRequest({
    message:
      "This came from a page of another site (see its Origin header). MCP clients that are programs send no Origin."
  })
)

const parsed = (text: string): Effect.Effect<Readonly<Record<string, unknown>>, InvalidRequest> => {
  try {
    return Effect.succeed(JSON.parse(text))
  } catch {
    return Effect.fail(invalidRequest([{ path: [], message: "Expected a JSON-RPC message in well-formed JSON" }]))
  }
}

const serve = Effect.gen(function* () {
  const authentication = yield* Authentication
  const database = yield* DatabaseWatch
  const { publicUrl } = yield* Settings
  const tools = new Map((yield* Tools).map((tool) => [tool.name, admittedTool(tool)]))

  const recognised = (request: IncomingMessage) => {
    const secret = bearerOf(request)
    return secret === null
      ? Effect.fail(new Unauthenticated())
      : authentication.authenticate(secret, clientAddress(request))
  }

  /** The tool's result. */
  const called = Effect.fnUntraced(
    function* (
      tool: AdmittedTool,
      given: Arguments,
      credential: Credential,
      request: HttpServerRequest.HttpServerRequest
    ) {
      const source = request.source as IncomingMessage
      if (!credential.scopes.has(tool.scope)) return yield* ScopeRequired.of(tool.scope)
      const { accountId, exhaustedAt, scopes } = credential
      const made = (id: string) => noteTarget(request, id)
      return yield* tool.call(given, { accountId, exhaustedAt, scopes, made, requestId: requestIdOf(source) })
    },
    (outcome, _, given) =>
      Effect.catchTag(outcome, "SchemaError", ({ issue }: Schema.SchemaError) =>
        Effect.fail(fromIssue(issue, "Body", given))
      )
  )

  const answered = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const source = request.source as IncomingMessage
    const requestId = requestIdOf(source)
    if (!isOwnOrigin(source, publicUrl)) return yield* foreignPage
    const credential: Credential = yield* recognised(source)
    if (credential.isSuspended) return yield* new AccountSuspended()
    const refused = refuseQuery(source, noQuery)
    if (refused !== null) return yield* Effect.fail(refused)
    const message = yield* parsed(yield* readJsonText(source, false, messageMaxBytes))

    const context = yield* Effect.context<never>()
    let errorCode: ErrorCode | null = null
    const failed = (cause: Cause.Cause<ContractError>) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.map(faultError(cause, source, mcpPath, database), (error) => {
            errorCode = error._tag
            return { content: [{ type: "text" as const, text: errorBody(error, requestId) }], isError: true }
          })

    const call = (signal: AbortSignal) => (name: string, given: Arguments) => {
      const tool = tools.get(name)
      if (tool === undefined) return null
      if (tool.audited !== null) {
        noteCaller(source, { ...credential, source: "mcp" }, auditedAs(tool.audited, apiPathOf(tool, given)))
      }
      const told = called(tool, given, credential, request).pipe(
        Effect.map((answer) => ({
          content: [{ type: "text" as const, text: JSON.stringify(answer) }],
          structuredContent: answer
        })),
        Effect.catchCause(failed),
        Effect.withSpan(`tools/call ${name}`)
      )
      const witnessed = tool.hints.readOnlyHint ? context : Context.add(context, ChangeWitness, () => noteBegun(source))
      return Effect.runPromiseWith(witnessed)(told, { signal })
    }

    const { status, text } = yield* Effect.promise((signal) =>
      answerMessage({
        message,
        headers: source.headers,
        tools: [...tools.values()].filter(({ scope }) => credential.scopes.has(scope)),
        call: call(signal),
        serviceVersion
      })
    )
    const response =
      text === ""
        ? HttpServerResponse.empty({ status })
        : HttpServerResponse.text(text, { status, contentType: "application/json" })
    if (errorCode !== null) tellsError(response, errorCode)
    return response
  })
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, answered)
})

export const McpRoute = {
  /** Needs Authentication, DatabaseWatch, Settings, and the services of the tools. */
  layer: (
    HttpRouter.use((router) =>
      // Its failures are handled by the edge, which wraps all routes.
      Effect.flatMap(serve, (handler) => router.add("POST", mcpPath, handler as Effect.Effect<never>))
    ) as Layer.Layer<never, never, HttpRouter.HttpRouter | Effect.Services<typeof serve>>
  ).pipe(Layer.provide(Tools.layer))
}
