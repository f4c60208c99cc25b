/** Refuses a request with 503 and the Error body, without a router. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ServiceUnavailable } from "../../../schemas/Errors.ts"
import { errorBody, headersOf } from "./ErrorResponse.ts"
import { identify } from "./RequestId.ts"

/** The connection ends with the response. */
export const refuseNow = (request: IncomingMessage, response: ServerResponse, error: ServiceUnavailable): void => {
  const requestId = identify(request)
  response.writeHead(503, {
    ...headersOf(error),
    "content-type": "application/json",
    "retry-after": "1",
    "x-request-id": requestId,
    connection: "close"
  })
  response.end(errorBody(error, requestId))
}
