/**
 * The id of a request: the caller's own `X-Request-Id` if it is valid, otherwise `req_…`.
 *
 * @source contract-details.md: 1–128 printable ASCII characters
 */
import { randomBytes } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { requestIdMaxCharacters } from "../../../schemas/Limits.ts"

const usable = new RegExp(`^[\\x20-\\x7e]{1,${requestIdMaxCharacters}}$`)

/** A random prefix for each process and a counter: unique without random bytes for every request. */
const prefix = `req_${randomBytes(10).toString("hex")}`
let count = 0

export const requestIdFrom = (header: string | undefined): string =>
  header !== undefined && usable.test(header) ? header : `${prefix}${(count++).toString(36).padStart(7, "0")}`

/** A map by request instead of the fiber's context: contexts are copied on the way to a handler, and every request needs its id. */
const ids = new WeakMap<IncomingMessage, string>()

/** Sets the request's id from its header. */
export const identify = (request: IncomingMessage): string => {
  const header = request.headers["x-request-id"]
  const id = requestIdFrom(typeof header === "string" ? header : undefined)
  ids.set(request, id)
  return id
}

/** Empty for a request that has not passed the edge. */
export const requestIdOf = (request: IncomingMessage): string => ids.get(request) ?? ""
