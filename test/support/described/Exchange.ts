/** One request and its answer, as they went over the wire. */

/** By lower-case name. */
export type Headers = Readonly<Record<string, string>>

export interface Exchange {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly requestHeaders: Headers
  /** Empty where nothing was sent, null where it was not kept: only JSON is. */
  readonly requestBody: string | null
  readonly status: number
  readonly headers: Headers
  /** Null where it was not kept: only what is no stream of bytes or events is. */
  readonly body: string | null
}

/** `name` and `value`, by turns, as node:http and undici have them. A name that comes twice is joined as HTTP says. */
export const headersOf = (raw: ReadonlyArray<string | Buffer>): Headers => {
  const found: Record<string, string> = {}
  for (let at = 0; at < raw.length; at += 2) {
    const name = String(raw[at]).toLowerCase()
    const value = String(raw[at + 1])
    found[name] = name in found ? `${found[name]}, ${value}` : value
  }
  return found
}

export const mediaTypeOf = (headers: Headers): string =>
  (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase()

const unkept = new Set(["application/octet-stream", "application/x-tar", "text/event-stream"])

/** Bytes of files are of no interest, and a stream of events may never end. */
export const isKept = (headers: Headers): boolean => !unkept.has(mediaTypeOf(headers))

/** What is given to a stream; null for what is no bytes. */
export const bytesOf = (chunk: unknown, encoding: unknown): Buffer | null =>
  typeof chunk === "string"
    ? Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8")
    : chunk instanceof Uint8Array
      ? Buffer.from(chunk)
      : null
