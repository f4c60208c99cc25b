/**
 * How the end of a message's body is marked, according to the parser.
 *
 * @source RFC 9112 sections 6.1 and 6.3
 */
import type { IncomingMessage } from "node:http"

/** `none`: there is no body, or the end of the connection marks its end. */
export type Framing = "none" | "chunked" | { readonly length: string }

/** Null for a coding or length that the gateway does not understand, and so cannot pass on safely. */
export const framingOf = ({ headers }: IncomingMessage): Framing | null => {
  const { "transfer-encoding": coding, "content-length": length } = headers
  if (coding !== undefined) return length === undefined && /^chunked$/i.test(coding.trim()) ? "chunked" : null
  if (length === undefined) return "none"
  return /^\d{1,16}$/.test(length) ? { length } : null
}

export const hasBody = (framing: Framing): boolean =>
  framing === "chunked" || (framing !== "none" && Number(framing.length) > 0)

/** The framing as raw headers. */
export const framingHeaders = (framing: Framing): ReadonlyArray<string> => {
  if (framing === "none") return []
  return framing === "chunked" ? ["Transfer-Encoding", "chunked"] : ["Content-Length", framing.length]
}
