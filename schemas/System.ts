/** The description of the API itself. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Open } from "./Access.ts"

export class SystemGroup extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("getOpenApi", "/openapi.json", {
      success: Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "An OpenAPI 3.1 document." })
    })
      .middleware(Open)
      .annotateMerge(
        OpenApi.annotations({ identifier: "getOpenApi", summary: "This description", description: "Needs no API key." })
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "System", description: "The description of this API." })) {}
