/**
 * Refuses a request with two Host headers before any code uses one of them. Gateways do not take it (`RawGateway.ts`).
 *
 * @source RFC 9112 section 3.2
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { hasOneHost } from "../../access/gateway/hasOneHost.ts"
import { endSoon } from "../../access/gateway/socketEnd.ts"
import { errorBody, headersOf, invalidRequest } from "./ErrorResponse.ts"
import { rawAnswer } from "./RawAnswer.ts"
import { identify } from "./RequestId.ts"

export const requireOneHost = (server: Server): void => {
  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (event !== "request" && event !== "upgrade" && event !== "checkContinue") return passOn(event, ...args)
    const request = args[0] as IncomingMessage
    if (hasOneHost(request)) return passOn(event, ...args)
    const requestId = identify(request)
    const error = invalidRequest([{ path: ["Host"], message: "Expected one Host header" }])
    const body = errorBody(error, requestId)
    if (event === "upgrade") {
      endSoon(args[1] as Duplex, rawAnswer(400, body, requestId, headersOf(error)))
      return true
    }
    const response = args[1] as ServerResponse
    response.writeHead(400, {
      ...headersOf(error),
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-request-id": requestId,
      connection: "close"
    })
    response.end(body)
    return true
  }
}
