/**
 * A response whose value is plain JSON already: strings, numbers, plain objects. It is serialized directly, without the
 * encoder (12 of 60 µs of a GET of one Sandbox); tests decode such responses with their schemas.
 */
import { HttpServerResponse } from "effect/http"

export const jsonAnswer = <A>(body: A, status = 200): HttpServerResponse.HttpServerResponse =>
  jsonTextAnswer(JSON.stringify(body), status)

/** The kernel takes this much immediately. */
const smallMaxCharacters = 64 * 1024

/**
 * `text`: JSON, which goes out as a line. Of a large one only the bytes are kept until its client has read it. Node would keep the text beside a copy of three bytes for each
 * character.
 */
export const jsonTextAnswer = (
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> | undefined = undefined
): HttpServerResponse.HttpServerResponse => {
  const line = `${text}\n`
  const given = { status, contentType: "application/json", ...(headers === undefined ? {} : { headers }) }
  return text.length <= smallMaxCharacters
    ? HttpServerResponse.text(line, given)
    : HttpServerResponse.uint8Array(Buffer.from(line), given)
}
