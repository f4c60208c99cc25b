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

/**
 * On the request itself: the fiber's context is copied on the way to a handler, and every request needs its id. A `WeakMap` by request costs
 * a hash and work of the collector for each.
 */
const idKey = Symbol("request id")

type Identified = IncomingMessage & { [idKey]?: string }

/** Sets the request's id from its header. */
export const identify = (request: IncomingMessage): string => {
  const header = request.headers["x-request-id"]
  const id = requestIdFrom(typeof header === "string" ? header : undefined)
  ;(request as Identified)[idKey] = id
  return id
}

/** Empty for a request that has not passed the edge. */
export const requestIdOf = (request: IncomingMessage): string => (request as Identified)[idKey] ?? ""
