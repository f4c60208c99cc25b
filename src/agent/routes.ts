/**
 * The agent's router: it maps `METHOD /v1/path` to a handler, and defines how a handler refuses.
 *
 * Control bodies are JSON both ways. A refusal is a 4xx with `{code, message, details}`; the client maps the code to a typed error.
 *
 * @source design.md "The runtime"
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2"
import { setImmediate as turn } from "node:timers/promises"

export type Handler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, url: URL) => void | Promise<void>

/** Keyed by `METHOD /v1/path`, without the query. */
export type Routes = Readonly<Record<string, Handler>>

/** A handler throws this; the router answers it as `{code, message, details}`. Anything else that is thrown is a 500 `AGENT_FAILED`. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly details: Readonly<Record<string, unknown>> | null

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>> | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

const BODY_MAX_BYTES = 4 * 1024 ** 2

/** The whole request body; refuses with 413 past `maxBytes`. (Listeners: an async iterator costs more than a small body.) */
export const readBody = (stream: ServerHttp2Stream, maxBytes = BODY_MAX_BYTES): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    let size = 0
    stream
      .on("data", (chunk: Buffer) => {
        size += chunk.length
        if (size <= maxBytes) chunks.push(chunk)
        else reject(new Refusal(413, "PAYLOAD_TOO_LARGE", `The body is larger than ${maxBytes} bytes`))
      })
      .once("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)))
      .once("close", () => reject(new Refusal(400, "INVALID_REQUEST", "The body ended too early")))
  })

/** The request body as a JSON object. */
export const readJson = async (
  stream: ServerHttp2Stream,
  maxBytes = BODY_MAX_BYTES
): Promise<Record<string, unknown>> => {
  const body = await readBody(stream, maxBytes)
  try {
    const value: unknown = JSON.parse(body.toString("utf8"))
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // answered below
  }
  throw new Refusal(400, "INVALID_REQUEST", "The body is not a JSON object")
}

export const isWanted = (stream: ServerHttp2Stream): boolean => !stream.destroyed && !stream.closed

/**
 * Reads the body of a changing request; null when the client gave the request up before it arrived. A link that was broken for a while delivers a
 * request and its cancellation together, long after other requests were answered.
 */
export const readWanted = async (stream: ServerHttp2Stream): Promise<Record<string, unknown> | null> => {
  const body = await readJson(stream)
  await turn()
  return isWanted(stream) ? body : null
}

/** Answers JSON and ends the stream. Does nothing when the client has gone. */
export const answerJson = (stream: ServerHttp2Stream, status: number, value: unknown): void => {
  if (!isWanted(stream) || stream.headersSent) return
  stream.respond({ ":status": status, "content-type": "application/json" })
  stream.end(JSON.stringify(value))
}

/** Answers a failure of a handler: a `Refusal` as it is, any other failure as 500. If the head was already sent, resets the stream instead. */
export const answerFailure = (stream: ServerHttp2Stream, failure: unknown): void => {
  if (!isWanted(stream)) return
  if (stream.headersSent) {
    stream.close(2)
    return
  }
  if (failure instanceof Refusal) {
    answerJson(stream, failure.status, { code: failure.code, message: failure.message, details: failure.details })
  } else {
    const message = failure instanceof Error ? failure.message : String(failure)
    answerJson(stream, 500, { code: "AGENT_FAILED", message, details: null })
  }
}
