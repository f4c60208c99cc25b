import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Api } from "../../../schemas/Api.ts"
import { openApiDocument } from "../../../schemas/OpenApiDocument.ts"
import { leanGroup } from "./LeanContext.ts"
import { readMachineFiles } from "./machineFiles.ts"

/** The same for all callers until the next version. */
const lasting = (body: unknown) =>
  HttpServerResponse.text(JSON.stringify(body), {
    contentType: "application/json",
    headers: { "cache-control": "public, max-age=300" }
  })

export const SystemHandlers = {
  layer: leanGroup(Api, "system", (handlers) => {
    // Built on demand: it takes a tenth of a second, which would delay the start.
    let document: HttpServerResponse.HttpServerResponse | null = null
    const files = readMachineFiles()
    const machines = {
      json: lasting({ machines: files.map(({ chart }) => chart) }),
      mermaid: lasting({
        machines: files.map(({ chart: { kind, version }, mermaid }) => ({ kind, version, mermaid }))
      })
    }
    return handlers
      .handle("getOpenApi", () => Effect.sync(() => (document ??= lasting(openApiDocument(Api)))))
      .handle("listMachines", ({ query }) => Effect.succeed(machines[query.format ?? "json"]))
  })
}
