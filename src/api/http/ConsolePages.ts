/**
 * Serves the console's pages: `/console/assets/*` by name, and one page for every other path below `/console` that is not its API.
 */
import type { IncomingMessage } from "node:http"
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import { NotFound, ServiceUnavailable } from "../../../schemas/Errors.ts"
import { assetsPath, pageFiles } from "../../console/bundle/pageFiles.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { answerFile, ofAsset, ofPage } from "./PageAnswer.ts"
import { requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"

const apiPath = "/console/api/"

const handler = Effect.gen(function* () {
  // In the background: the start does not wait for it.
  const made = yield* Effect.tryPromise(pageFiles).pipe(
    Effect.tapCause((cause) => Effect.logError("The console's pages cannot be made", cause)),
    Effect.cached
  )
  yield* Effect.forkScoped(Effect.ignore(made))
  const unmade = (request: IncomingMessage) =>
    errorResponse(
      new ServiceUnavailable({ message: "The console's pages could not be built; the service's log has the reason." }),
      requestIdOf(request)
    )
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (asked) => {
    const request = asked.source as IncomingMessage
    const path = pathOf(request) ?? ""
    // The edge knows the methods of such a path.
    if (path.startsWith(apiPath)) {
      return Effect.fail(
        new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request: asked }) })
      )
    }
    return Effect.match(made, {
      onFailure: () => unmade(request),
      onSuccess: ({ assets, page }) => {
        if (!path.startsWith(assetsPath)) return answerFile(request, page, ofPage)
        const asset = assets.get(path.slice(assetsPath.length))
        return asset === undefined
          ? errorResponse(
              new NotFound({
                message: "There is no such file; a newer version of the console has others. Reload the page."
              }),
              requestIdOf(request)
            )
          : answerFile(request, asset, ofAsset)
      }
    })
  })
})

export const ConsolePages = {
  layer: HttpRouter.use(
    (router) =>
      Effect.flatMap(handler, (serve) =>
        // This includes `/console`.
        router.add("GET", "/console/*", serve)
      )
    // Its failures are handled by the edge, which wraps all routes.
  ) as Layer.Layer<never, never, HttpRouter.HttpRouter>
}
