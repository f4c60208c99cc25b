/** The description of the API itself, and of the state machines behind it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Open } from "./Access.ts"
import { MachineFormat, MachineList } from "./Machine.ts"

export class SystemGroup extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("getOpenApi", "/openapi.json", {
      success: Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "An OpenAPI 3.1 document." })
    })
      .middleware(Open)
      .annotateMerge(
        OpenApi.annotations({ identifier: "getOpenApi", summary: "This description", description: "Needs no API key." })
      ),
    HttpApiEndpoint.get("listMachines", "/machines", {
      query: { format: Schema.optionalKey(MachineFormat) },
      success: MachineList
    })
      .middleware(Open)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listMachines",
          summary: "The state machines, as data",
          description:
            "Needs no API key. All that is needed to draw each machine or to say what would happen in it: its states and what each refuses, its transitions in the order in which they are tried, and where all of it stands in a drawing. With `format=mermaid`, `{kind, version, mermaid}` of each."
        })
      )
  )
  .annotateMerge(OpenApi.annotations({ title: "System", description: "The description of this API." })) {}
