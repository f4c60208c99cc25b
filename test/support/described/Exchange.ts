/** One request and its answer, as they were sent on the wire. */

/** By lower-case name. */
export type Headers = Readonly<Record<string, string>>

export interface Exchange {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly requestHeaders: Headers
  /** Empty where nothing was sent, null where it was not kept: only JSON is kept. */
  readonly requestBody: string | null
  readonly status: number
  readonly headers: Headers
  /** Null where it was not kept: streams of bytes or events are not. */
  readonly body: string | null
}

/** `name` and `value` alternately, as in node:http and undici. A repeated name is joined by HTTP's rule. */
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

const unkept = new Set([
  "application/octet-stream",
  "application/x-tar",
  "application/x-atoll-snapshot",
  "application/vnd.oci.image.layout.v1.tar",
  "text/event-stream"
])

/** The bytes of files do not matter, and a stream of events may never end. */
export const isKept = (headers: Headers): boolean => !unkept.has(mediaTypeOf(headers))

/** A chunk that is written to a stream; null for anything but bytes. */
export const bytesOf = (chunk: unknown, encoding: unknown): Buffer | null =>
  typeof chunk === "string"
    ? Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8")
    : chunk instanceof Uint8Array
      ? Buffer.from(chunk)
      : null
