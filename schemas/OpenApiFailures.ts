/** The failures that every operation of the OpenAPI description may answer before its endpoint is asked. */
import { errorResponse } from "./OpenApiErrors.ts"

type Json = Record<string, unknown>

/** The parser answers it before any endpoint is known, so every operation may. */
export const headTooLarge = {
  ...errorResponse(431, ["INVALID_REQUEST"], false),
  description: "`INVALID_REQUEST`\n\nThe URL and the headers have more than 64 KiB."
}

const notAllowed = errorResponse(0, ["METHOD_NOT_ALLOWED"], false)

/** What comes before the endpoint is asked: of every path. */
export const otherResponse = {
  ...notAllowed,
  description:
    "Any other failure: a method that the path does not have (405, with Allow), and what is no well-formed HTTP (400, 408). The body is an Error too.",
  headers: { ...(notAllowed["headers"] as Json), Allow: { $ref: "#/components/headers/Allow" } }
}
