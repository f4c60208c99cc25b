/**
 * An answer whose value is already what goes over the wire: strings, numbers, plain objects. It is written as it is, which spares the
 * encoder's walk (12 of 60 µs of a GET of one Sandbox); tests decode such answers with their schemas.
 */
import { HttpServerResponse } from "effect/unstable/http"

export const jsonAnswer = <A>(body: A, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json" })

/** The same for a large value that is ASCII all through (base64): its bytes need no encoding. */
export const asciiJsonAnswer = <A>(body: A): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(Buffer.from(JSON.stringify(body), "latin1"), { contentType: "application/json" })
