/**
 * An answer whose value is already what goes over the wire: strings, numbers, plain objects. It is written as it is, which spares the
 * encoder's walk (12 of 60 µs of a GET of one Sandbox); tests decode such answers with their schemas.
 */
import { HttpServerResponse } from "effect/http"

export const jsonAnswer = <A>(body: A, status = 200): HttpServerResponse.HttpServerResponse =>
  jsonTextAnswer(JSON.stringify(body), status)

/** `text`: JSON. */
export const jsonTextAnswer = (text: string, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(text, { status, contentType: "application/json" })

/**
 * The same for an object with one large member that is base64, and ASCII all through: that member is put in its place unseen, where
 * `JSON.stringify` would look at every character of it and copy it twice.
 */
export const base64Answer = <K extends string, A extends { readonly [_ in K]: string }>(
  body: A,
  member: K
): HttpServerResponse.HttpServerResponse => {
  const { [member]: base64, ...rest } = body
  const head = `${JSON.stringify(rest).slice(0, -1)},${JSON.stringify(member)}:"`
  const bytes = Buffer.allocUnsafeSlow(head.length + base64.length + 2)
  bytes.write(head, 0, "latin1")
  bytes.write(base64, head.length, "latin1")
  bytes.write('"}', head.length + base64.length, "latin1")
  return HttpServerResponse.uint8Array(bytes, { contentType: "application/json" })
}
