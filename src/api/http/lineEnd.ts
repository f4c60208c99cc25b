/** A JSON answer ends with a line end, so that the prompt of a shell stands on the next line. */
import { HttpBody, HttpServerResponse } from "effect/http"

const lineEnd = "\n"

/** Adds it where an encoder left it out. */
export const withLineEnd = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const { body, headers } = response
  if (body._tag !== "Uint8Array" || body.text === undefined || body.text === "" || body.text.endsWith(lineEnd))
    return response
  if (!body.contentType.startsWith("application/json") || headers["content-encoding"] !== undefined) return response
  return HttpServerResponse.setBody(response, HttpBody.text(body.text + lineEnd, body.contentType))
}
