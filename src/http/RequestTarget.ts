/**
 * What a request asks for: the one place that takes its target apart, for the router, the gateways and everybody else who looks at it.
 *
 * A path is ours only as it is written in the OpenAPI, so that whoever filters paths before us (a proxy that keeps /metrics to itself)
 * and we cannot read one differently: no escapes, no `;`, no `#`, no whole URL. No path of ours needs any of them.
 *
 * @source RFC 3986 section 6.2.2 (equivalent spellings), RFC 9112 section 3.2
 */
import type { IncomingMessage } from "node:http"

/** No segment of the API's is empty: the router would take one for a parameter. */
const plain = /^\/(?:api(?:\/[\w.~-]+)*|(?!api\/)[\w.~/-]*)$/

const endOfPath = (url: string): number => {
  const at = url.indexOf("?")
  return at === -1 ? url.length : at
}

/** Null for what can be no path of ours. */
export const pathOf = ({ url = "/" }: Pick<IncomingMessage, "url">): string | null => {
  const path = url.slice(0, endOfPath(url))
  return plain.test(path) ? path : null
}

/** Names and values in their order, repeated ones too; empty without a query. */
export const queryOf = ({ url = "/" }: Pick<IncomingMessage, "url">): URLSearchParams =>
  new URLSearchParams(url.slice(endOfPath(url) + 1))
