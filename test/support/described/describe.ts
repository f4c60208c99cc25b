/**
 * The description with which a whole test run is compared, made once (vitest `globalSetup`). Another test checks that a
 * service publishes it.
 */
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
