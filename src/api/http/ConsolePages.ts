/**
 * Serves the console's pages: `/console/assets/*` by name, and one page for every other path below `/console` that is not its API.
 *
 * They load nothing from other hosts; no other site may frame them or receive them as a referrer.
 *
 * @source W3C Content Security Policy Level 3; RFC 9110 section 12.5.3 (Accept-Encoding), 13.1.2 (If-None-Match)
 */
import type { IncomingMessage } from "node:http"
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound, ServiceUnavailable } from "../../../schemas/Errors.ts"
import { assetsPath, type PageFile, pageFiles } from "../../console/bundle/pageFiles.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"

const apiPath = "/console/api/"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const always = {
  vary: "accept-encoding",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin"
}

const ofPage = {
  ...always,
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY"
}

const ofAsset = { ...always, "cache-control": "public, max-age=31536000, immutable" }

/** The best encoding that the browser accepts; `q=0` excludes one. */
const encodingFor = ({ headers }: IncomingMessage): "br" | "gzip" | null => {
  const accepted = String(headers["accept-encoding"] ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => !/;\s*q=0(?:\.0*)?$/.test(word))
    .map((word) => word.split(";", 1)[0])
  return accepted.includes("br") ? "br" : accepted.includes("gzip") ? "gzip" : null
}

const answer = (request: IncomingMessage, file: PageFile, headers: Readonly<Record<string, string>>) => {
  if (request.headers["if-none-match"] === file.etag) {
    return HttpServerResponse.empty({ status: 304, headers: { ...headers, etag: file.etag } })
  }
  const encoding = encodingFor(request)
  return HttpServerResponse.uint8Array(encoding === null ? file.plain : file[encoding], {
    contentType: file.contentType,
    headers: { ...headers, etag: file.etag, ...(encoding === null ? {} : { "content-encoding": encoding }) }
  })
}

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
        if (!path.startsWith(assetsPath)) return answer(request, page, ofPage)
        const asset = assets.get(path.slice(assetsPath.length))
        return asset === undefined
          ? errorResponse(
              new NotFound({
                message: "There is no such file; a newer version of the console has others. Reload the page."
              }),
              requestIdOf(request)
            )
          : answer(request, asset, ofAsset)
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
