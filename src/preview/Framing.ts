/**
 * How long the body of a message is, as the parser found it.
 *
 * @source RFC 9112 sections 6.1 and 6.3
 */
import type { IncomingMessage } from "node:http"

/** `none`: there is no body, or it is told by the end of the connection. */
export type Framing = "none" | "chunked" | { readonly length: string }

/** Null for a coding or a length that the gateway does not understand, and so cannot pass on as it was meant. */
export const framingOf = ({ headers }: IncomingMessage): Framing | null => {
  const { "transfer-encoding": coding, "content-length": length } = headers
  if (coding !== undefined) return length === undefined && /^chunked$/i.test(coding.trim()) ? "chunked" : null
  if (length === undefined) return "none"
  return /^\d{1,16}$/.test(length) ? { length } : null
}

export const hasBody = (framing: Framing): boolean =>
  framing === "chunked" || (framing !== "none" && Number(framing.length) > 0)

/** As raw headers. */
export const framingHeaders = (framing: Framing): ReadonlyArray<string> => {
  if (framing === "none") return []
  return framing === "chunked" ? ["Transfer-Encoding", "chunked"] : ["Content-Length", framing.length]
}
