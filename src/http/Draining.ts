/**
 * The end of a listener, in bounded time and without a request that is lost: what runs is answered, what still arrives on connections that
 * clients keep open is served and told to close them, and later refused with 503; then whatever is left is cut.
 *
 * node:http's own close ends idle connections at once, on some of which a request is on its way, and waits for the others for ever.
 *
 * @source RFC 9112 section 9.6 (tear-down)
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { errorBody } from "./ErrorResponse.ts"
import { identify } from "./RequestId.ts"
import { stopping } from "./stopping.ts"

/** So long a connection may be silent before nothing is thought to be on its way. */
const idleMs = 200
/** Later requests are refused: there is no time to do them in. */
const serveMs = 500
const lookEveryMs = 25

/** When the last request of each open connection was answered; null while one is being answered. */
type Connections = Map<Socket, number | null>

/** What is sent must not say that the connection stays, if that is not yet said. */
const closeAfter = (response: ServerResponse): void => {
  if (!response.headersSent) response.shouldKeepAlive = false
}

const refuse = (request: IncomingMessage, response: ServerResponse): void => {
  const requestId = identify(request)
  response.writeHead(503, {
    "content-type": "application/json",
    "retry-after": "1",
    "x-request-id": requestId,
    connection: "close"
  })
  response.end(errorBody(stopping(), requestId))
}

/**
 * Puts itself before all who listen to the server.
 *
 * @param withinMs `close` calls back no later than this.
 * @param begin Told once, when `close` is called.
 */
export const drainOnClose = (server: Server, withinMs: number, begin: () => void): void => {
  const connections: Connections = new Map()
  const answering = new Set<ServerResponse>()
  let closedAt: number | null = null

  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (event === "connection") {
      const socket = args[0] as Socket
      connections.set(socket, Date.now())
      socket.once("close", () => connections.delete(socket))
      return passOn(event, ...args)
    }
    if (event !== "request" && event !== "checkContinue" && event !== "checkExpectation") return passOn(event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    const { socket } = request
    if (!answering.has(response)) {
      answering.add(response)
      connections.set(socket, null)
      response.once("close", () => {
        answering.delete(response)
        if (connections.has(socket)) connections.set(socket, Date.now())
      })
    }
    if (closedAt !== null) {
      closeAfter(response)
      if (Date.now() - closedAt > serveMs) {
        refuse(request, response)
        return true
      }
    }
    return passOn(event, ...args)
  }

  server.close = (done) => {
    if (closedAt !== null) return server
    const began = Date.now()
    closedAt = began
    NetServer.prototype.close.call(server)
    for (const response of answering) closeAfter(response)
    begin()
    const look = setInterval(() => {
      for (const [socket, answeredAt] of connections) {
        if (answeredAt !== null && Date.now() - Math.max(answeredAt, began) > idleMs) socket.destroySoon()
      }
      if (connections.size > 0 && Date.now() - began < withinMs) return
      clearInterval(look)
      done?.()
    }, lookEveryMs)
    return server
  }
}
