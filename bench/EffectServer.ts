/**
 * An HTTP server by the parts of Effect that the service uses, and nothing else: each GET of a Sandbox gets the same constant JSON.
 * `node EffectServer.ts KIND BODY` prints its port. KIND is `router` (a route of HttpRouter), `api` (an endpoint of HttpApi) or `checked`: an
 * endpoint of HttpApi behind the two checks that the contract asks of each request, an id and a key that is found by its SHA-256.
 */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"

const [kind, body = ""] = process.argv.slice(2)
const path = "/api/v2/sandboxes/:id"
const answer = () => HttpServerResponse.text(body, { contentType: "application/json" })

class Checked extends HttpApiMiddleware.Service<Checked>()("atoll/bench/Checked") {}

const endpoint = HttpApiEndpoint.get("getSandbox", path, {
  params: { id: Schema.String },
  success: Schema.Unknown
})

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")
const keys = new Set([sha256("Bearer key")])
let requests = 0

const checks = Layer.succeed(Checked, ((handler: Effect.Effect<HttpServerResponse.HttpServerResponse>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const id = headers["x-request-id"] ?? `req_${(requests++).toString(36)}`
    if (!keys.has(sha256(headers["authorization"] ?? "")))
      return Effect.succeed(HttpServerResponse.empty({ status: 401 }))
    return Effect.map(handler, HttpServerResponse.setHeader("x-request-id", id))
  })) as never)

const routes = () => {
  if (kind === "router") return HttpRouter.add("GET", path, Effect.sync(answer))
  const group = HttpApiGroup.make("floor").add(kind === "checked" ? endpoint.middleware(Checked) : endpoint)
  const api = HttpApi.make("floor").add(group)
  const handlers = HttpApiBuilder.group(
    api as never,
    "floor" as never,
    ((all: never) =>
      (all as { readonly handle: (name: string, answer: () => unknown) => unknown }).handle("getSandbox", () =>
        Effect.sync(answer)
      )) as never
  ) as Layer.Layer<never>
  return HttpApiBuilder.layer(api as never).pipe(Layer.provide(handlers as never), Layer.provide(checks))
}

const server = createServer()
server.once("listening", () => console.log((server.address() as { readonly port: number }).port))

HttpRouter.serve(routes() as never, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provide(NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0 })),
  Layer.launch,
  (running) => NodeRuntime.runMain(running as Effect.Effect<never>)
)
