/**
 * A browser that opens the printed address is sent to the console. Whoever else asks for `/` is told, as of any unknown path, where the API is
 * described.
 *
 * @source RFC 9110 section 12.5.1 (Accept), 15.4.4 (See Other)
 */
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerError, HttpServerResponse } from "effect/http"

/** By name: programs say that they take anything. */
const takesHtml = (accept = ""): boolean =>
  accept
    .toLowerCase()
    .split(",")
    .map((word) => word.trim())
    .some((word) => /^text\/html\s*(?:;|$)/.test(word) && !/;\s*q=0(?:\.0*)?$/.test(word))

const toConsole = HttpServerResponse.empty({
  status: 303,
  headers: { location: "/console", vary: "accept", "cache-control": "no-store" }
})

export const BrowserEntrance = {
  layer: HttpRouter.use(
    (router) =>
      router.add("GET", "/", (request) =>
        takesHtml(request.headers["accept"])
          ? Effect.succeed(toConsole)
          : Effect.fail(new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) }))
      )
    // What it fails with is the edge's, which is around all routes.
  ) as Layer.Layer<never, never, HttpRouter.HttpRouter>
}
