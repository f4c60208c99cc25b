/**
 * Parses a request's target: the only place that does, for the router, the gateways and all others.
 *
 * A path is accepted only in the spelling of the OpenAPI, so that a filter in front of the service (a proxy that keeps /metrics private)
 * reads it the same way: no escapes, no `;`, no `#`, no absolute URL. No path of the API needs any of them.
 *
 * @source RFC 3986 section 6.2.2 (equivalent spellings), RFC 9112 section 3.2
 */
import type { IncomingMessage } from "node:http"

/** The API has no empty segment: the router would take one for a parameter. */
const plain = /^\/(?:api(?:\/[\w.~-]+)*|(?!api\/)[\w.~/-]*)$/

const endOfPath = (url: string): number => {
  const at = url.indexOf("?")
  return at === -1 ? url.length : at
}

/** Null if no path of the service has this form. */
export const pathOf = ({ url = "/" }: Pick<IncomingMessage, "url">): string | null => {
  const path = url.slice(0, endOfPath(url))
  return plain.test(path) ? path : null
}

/** Names and values in order, including repeated ones; empty without a query. */
export const queryOf = ({ url = "/" }: Pick<IncomingMessage, "url">): URLSearchParams =>
  new URLSearchParams(url.slice(endOfPath(url) + 1))
