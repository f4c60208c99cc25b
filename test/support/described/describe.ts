/** The description that a whole test run is held to, made once (vitest `globalSetup`). That a service publishes it is a test of its own. */
import type { TestProject } from "vitest/node"
import { Api } from "../../../schemas/Api.ts"
import { openApiDocument } from "../../../schemas/OpenApiDocument.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** OpenAPI, as JSON. */
    description: string
  }
}

export default (project: TestProject): void => {
  project.provide("description", JSON.stringify(openApiDocument(Api)))
}
