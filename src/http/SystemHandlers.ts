import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Api } from "../../schemas/Api.ts"
import { openApiDocument } from "../../schemas/OpenApiDocument.ts"
import { leanGroup } from "./LeanContext.ts"

export const SystemHandlers = {
  layer: leanGroup(Api, "system", (handlers) => {
    const document = HttpServerResponse.text(JSON.stringify(openApiDocument(Api)), {
      contentType: "application/json",
      headers: { "cache-control": "public, max-age=300" }
    })
    return handlers.handle("getOpenApi", () => Effect.succeed(document))
  })
}
