/**
 * Redirects a browser that opens `/` to the console. Other clients of `/` get the 404 of any unknown path, which says where the API is
 * described.
 *
 * @source RFC 9110 section 12.5.1 (Accept), 15.4.4 (See Other)
 */
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerError, HttpServerResponse } from "effect/http"

/** Only by name, because programs accept any type. */
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
    // Its failures are handled by the edge, which wraps all routes.
  ) as Layer.Layer<never, never, HttpRouter.HttpRouter>
}
