/** A JSON answer ends with a line end, so that the prompt of a shell stands on the next line. */
import { HttpBody, HttpServerResponse } from "effect/http"

const lineEnd = "\n"

/** The body of the same text and one byte. `HttpBody.text` would measure all of it in UTF-8 again. */
const withOneByte = ({ contentType, contentLength }: HttpBody.Uint8Array, text: string): HttpBody.Uint8Array =>
  new HttpBody.Uint8Array(undefined, contentType, contentLength + 1, text + lineEnd)

/** Adds it where an encoder left it out. */
export const withLineEnd = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const { body, headers } = response
  if (body._tag !== "Uint8Array" || body.text === undefined || body.text === "" || body.text.endsWith(lineEnd))
    return response
  if (!body.contentType.startsWith("application/json") || headers["content-encoding"] !== undefined) return response
  return HttpServerResponse.setBody(response, withOneByte(body, body.text))
}
