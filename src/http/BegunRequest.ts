/**
 * Which requests may have changed something: their handler began, and their endpoint is not one that only reads.
 *
 * Nobody who is cut short after that may be told to simply send the request again.
 */
import type { IncomingMessage } from "node:http"

const begun = new WeakSet<IncomingMessage>()

export const noteBegun = (request: IncomingMessage): void => void begun.add(request)

export const mayHaveChanged = (request: IncomingMessage): boolean => begun.has(request)
