/**
 * Reads a JSON body up to its limit, and stops reading a larger one.
 *
 * @source contract.md "What the service does" rule 3, contract-details.md "Order of checks"
 */
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { type InvalidRequest, PayloadTooLarge, UnsupportedMediaType } from "../../../schemas/Errors.ts"
import { jsonBodyMaxBytes, jsonDepthMax } from "../../../schemas/Limits.ts"
import { hasBody } from "../../access/gateway/discardRest.ts"
import { invalidRequest } from "./ErrorResponse.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** `application/json`, with no charset but UTF-8. */
const isJson = (contentType: string): boolean => {
  const [type, ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase())
  return (
    type === "application/json" &&
    parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-?8"?$/.test(parameter))
  )
}

/** @param encodings Accepted content encodings beside identity. */
export const isMediaType = (
  request: IncomingMessage,
  expected: string,
  encodings: ReadonlyArray<string> = []
): boolean => {
  const { "content-type": contentType, "content-encoding": encoding } = request.headers
  if (encoding !== undefined && !["identity", ...encodings].includes(encoding.toLowerCase())) return false
  if (contentType === undefined) return false
  return expected === "application/json"
    ? isJson(contentType)
    : contentType.split(";", 1)[0]!.trim().toLowerCase() === expected
}

const tooLarge = (limitBytes: number) => new PayloadTooLarge({ details: { limitBytes } })

/** Refuses a Content-Length above the limit before any byte is read. */
export const refuseLength = (request: IncomingMessage, limitBytes: number): PayloadTooLarge | null => {
  return Number(request.headers["content-length"] ?? 0) <= limitBytes ? null : tooLarge(limitBytes)
}

const readBytes = (
  request: IncomingMessage,
  limitBytes: number
): Effect.Effect<Buffer, PayloadTooLarge | InvalidRequest> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const done = (result: Effect.Effect<Buffer, PayloadTooLarge | InvalidRequest>): void => {
      request.off("data", onData)
      request.off("end", onEnd)
      request.off("close", onClose)
      resume(result)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size <= limitBytes) {
        chunks.push(chunk)
      } else {
        request.pause()
        done(Effect.fail(tooLarge(limitBytes)))
      }
    }
    const onEnd = (): void => done(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const onClose = (): void => done(Effect.fail(invalidRequest([{ path: [], message: "The body ended too early" }])))
    request.on("data", onData)
    request.once("end", onEnd)
    request.once("close", onClose)
    request.on("error", () => {})
    return Effect.sync(() => {
      request.off("data", onData)
      request.off("end", onEnd)
      request.off("close", onClose)
    })
  })

/** Counts open brackets outside strings. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 0x5c) at++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > jsonDepthMax) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}

const asText = (bytes: Buffer): Effect.Effect<string, InvalidRequest> => {
  try {
    const text = utf8.decode(bytes)
    if (!/^\s*\{/.test(text)) return Effect.fail(invalidRequest([{ path: [], message: "Expected a JSON object" }]))
    return isTooDeep(text)
      ? Effect.fail(invalidRequest([{ path: [], message: `Expected at most ${jsonDepthMax} levels of nesting` }]))
      : Effect.succeed(text)
  } catch {
    return Effect.fail(invalidRequest([{ path: [], message: "Expected UTF-8" }]))
  }
}

/**
 * The text of a JSON body, unparsed.
 *
 * @param optional An absent body is `{}`.
 */
export const readJsonText = (
  request: IncomingMessage,
  optional: boolean,
  limitBytes = jsonBodyMaxBytes
): Effect.Effect<string, UnsupportedMediaType | PayloadTooLarge | InvalidRequest> => {
  const sent = hasBody(request)
  if (!sent && optional) return Effect.succeed("{}")
  if ((sent || request.headers["content-type"] !== undefined) && !isMediaType(request, "application/json")) {
    return Effect.fail(new UnsupportedMediaType({ details: { expected: "application/json" } }))
  }
  if (!sent) return Effect.fail(invalidRequest([{ path: [], message: "Expected a JSON body" }]))
  const refused = refuseLength(request, limitBytes)
  if (refused !== null) return Effect.fail(refused)
  return Effect.flatMap(readBytes(request, limitBytes), (bytes) =>
    bytes.length === 0 && optional ? Effect.succeed("{}") : asText(bytes)
  )
}
