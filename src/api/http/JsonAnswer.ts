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

/** Text around base64, as bytes: all of it ASCII, so it is copied without a scan. */
export const aroundBase64 = (head: string, base64: string, end: string): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(head.length + base64.length + end.length)
  bytes.write(head, 0, "latin1")
  bytes.write(base64, head.length, "latin1")
  bytes.write(end, head.length + base64.length, "latin1")
  return bytes
}

/**
 * The same for an object with one large base64 member. The member is ASCII, so it is inserted without a scan;
 * `JSON.stringify` would check every character and copy it twice.
 */
export const base64Answer = <K extends string, A extends { readonly [_ in K]: string }>(
  body: A,
  member: K
): HttpServerResponse.HttpServerResponse => {
  const { [member]: base64, ...rest } = body
  const head = `${JSON.stringify(rest).slice(0, -1)},${JSON.stringify(member)}:"`
  return HttpServerResponse.uint8Array(aroundBase64(head, base64, '"}\n'), { contentType: "application/json" })
}
