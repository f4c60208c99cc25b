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
import { Server as TlsServer } from "node:tls"
import { refuseNow } from "./refuseNow.ts"
import { stopping } from "./stopping.ts"

/** So long a connection may be silent before nothing is thought to be on its way. */
const idleMs = 200
/** Later requests are refused: there is no time to do them in. */
const serveMs = 500
const lookEveryMs = 25

/** Arrays, and no `Set` of answers, for what Gathering.ts says. */
interface Connection {
  /** Being answered, in the order of the requests: more than one where a client does not wait. */
  readonly answering: Array<ServerResponse>
  /** When its last request was answered, or it was opened. */
  lastAt: number
}

/** What is sent must not say that the connection stays, if that is not yet said. */
const closeAfter = (response: ServerResponse): void => {
  if (!response.headersSent) response.shouldKeepAlive = false
}

/**
 * Puts itself before all who listen to the server.
 *
 * @param withinMs `close` calls back no later than this.
 * @param begin Told once, when `close` is called.
 */
export const drainOnClose = (server: Server, withinMs: number, begin: () => void): void => {
  const connections = new Map<Socket, Connection>()
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const connection: Connection = { answering: [], lastAt: performance.now() }
    connections.set(socket, connection)
    socket.once("close", () => connections.delete(socket))
    return connection
  }
  let closedAt: number | null = null
  /** What requests come on: over TLS not the connection below it. */
  const opened = server instanceof TlsServer ? "secureConnection" : "connection"

  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (event === opened) {
      connectionOf(args[0] as Socket)
      return passOn(event, ...args)
    }
    if (event !== "request" && event !== "checkContinue" && event !== "checkExpectation") return passOn(event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    const connection = connectionOf(request.socket)
    const { answering } = connection
    if (!answering.includes(response)) {
      answering.push(response)
      response.once("close", () => {
        answering.splice(answering.indexOf(response), 1)
        connection.lastAt = performance.now()
      })
    }
    if (closedAt !== null) {
      closeAfter(response)
      if (performance.now() - closedAt > serveMs) {
        refuseNow(request, response, stopping())
        return true
      }
    }
    return passOn(event, ...args)
  }

  server.close = (done) => {
    if (closedAt !== null) return server
    const began = performance.now()
    closedAt = began
    NetServer.prototype.close.call(server)
    for (const { answering } of connections.values()) answering.forEach(closeAfter)
    begin()
    const look = setInterval(() => {
      for (const [socket, { answering, lastAt }] of connections) {
        if (answering.length === 0 && performance.now() - Math.max(lastAt, began) > idleMs) socket.destroySoon()
      }
      if (connections.size > 0 && performance.now() - began < withinMs) return
      clearInterval(look)
      done?.()
    }, lookEveryMs)
    return server
  }
}
