/** Serves the API's reference: one page at `/docs`, and its style and icon. They are made when they are first asked for. */
import { readFile } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Api } from "../../../schemas/Api.ts"
import { NotFound, ServiceUnavailable } from "../../../schemas/Errors.ts"
import { openApiDocument } from "../../../schemas/OpenApiDocument.ts"
import { type PageFile, pageFile } from "../../console/bundle/pageFiles.ts"
import type { OpenApi } from "../reference/Document.ts"
import { referencePage } from "../reference/referencePage.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { answerFile, ofAsset, ofPage } from "./PageAnswer.ts"
import { requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"

const referencePath = "/docs"
const assetsPath = `${referencePath}/assets/`

/** By the digest of its content, so that a browser can keep it for ever. */
const asset = async (
  name: string,
  contentType: string,
  ...sources: ReadonlyArray<string>
): Promise<readonly [string, PageFile]> => {
  const bytes = await Promise.all(sources.map((source) => readFile(new URL(source, import.meta.url))))
  const file = await pageFile(contentType, Buffer.concat(bytes))
  return [name.replace("HASH", file.etag.slice(1, 9)), file]
}

const make = async () => {
  const palette = "../../console/pages/palette.css"
  const style = await asset("reference-HASH.css", "text/css; charset=utf-8", palette, "../reference/reference.css")
  const icon = await asset("icon-HASH.svg", "image/svg+xml", "../../console/pages/icon.svg")
  const links = { style: `${assetsPath}${style[0]}`, icon: `${assetsPath}${icon[0]}` }
  const text = referencePage(openApiDocument(Api) as unknown as OpenApi, links)
  const page = await pageFile("text/html; charset=utf-8", Buffer.from(text))
  return { assets: new Map([style, icon]), page }
}

const handler = Effect.gen(function* () {
  const made = yield* Effect.tryPromise(make).pipe(
    Effect.tapCause((cause) => Effect.logError("The reference cannot be made", cause)),
    Effect.cached
  )
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (asked) => {
    const request = asked.source as IncomingMessage
    return Effect.match(made, {
      onFailure: () =>
        errorResponse(
          new ServiceUnavailable({ message: "The reference could not be made; the service's log has the reason." }),
          requestIdOf(request)
        ),
      onSuccess: ({ assets, page }) => {
        const path = pathOf(request) ?? ""
        if (path === referencePath) return answerFile(request, page, ofPage)
        const file = assets.get(path.slice(assetsPath.length))
        return file === undefined
          ? errorResponse(
              new NotFound({ message: `There is no such file. The reference is at ${referencePath}.` }),
              requestIdOf(request)
            )
          : answerFile(request, file, ofAsset)
      }
    })
  })
})

export const ReferencePages = {
  layer: HttpRouter.use(
    (router) =>
      Effect.flatMap(handler, (serve) =>
        Effect.andThen(router.add("GET", referencePath, serve), router.add("GET", `${assetsPath}*`, serve))
      )
    // Its failures are handled by the edge, which wraps all routes.
  ) as Layer.Layer<never, never, HttpRouter.HttpRouter>
}
