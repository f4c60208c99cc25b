/**
 * The id of a request: the caller's own `X-Request-Id` if it is usable, otherwise `req_…`.
 *
 * @source contract-details.md: 1–128 printable ASCII characters
 */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { requestIdMaxCharacters } from "../../schemas/Limits.ts"

const usable = new RegExp(`^[\\x20-\\x7e]{1,${requestIdMaxCharacters}}$`)

/** Random per process, then counted: unique without asking the random generator for every request. */
const prefix = `req_${randomBytes(10).toString("hex")}`
let count = 0

export const requestIdFrom = (header: string | undefined): string =>
  header !== undefined && usable.test(header) ? header : `${prefix}${(count++).toString(36).padStart(7, "0")}`

/** Beside the request and not in the fiber's context: a context is copied on the way to a handler, and this is asked for every request. */
const ids = new WeakMap<IncomingMessage, string>()

/** Gives the request its id, from its header. */
export const identify = (request: IncomingMessage): string => {
  const header = request.headers["x-request-id"]
  const id = requestIdFrom(typeof header === "string" ? header : undefined)
  ids.set(request, id)
  return id
}

/** Empty for a request that the edge has not seen. */
export const requestIdOf = (request: IncomingMessage): string => ids.get(request) ?? ""
