/**
 * Stops a listener in bounded time without losing a request. Running requests are answered. New requests on kept-alive connections
 * are served with `Connection: close`, later ones refused with 503; then the rest is cut.
 *
 * node:http's own close immediately ends idle connections, some of which have a request in flight, and waits for the others for ever.
 *
 * @source RFC 9112 section 9.6 (tear-down)
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { Server as TlsServer } from "node:tls"
import { refuseNow } from "./refuseNow.ts"
import { stopping } from "./stopping.ts"

/** A connection silent for so long has no request in flight. */
const idleMs = 200
/** Requests after this time are refused: too little time is left for them. */
const serveMs = 500
const lookEveryMs = 25

/** An array, not a `Set` of responses: see Gathering.ts. */
interface Connection {
  /** Responses in progress, in the order of the requests: more than one with a pipelining client. */
  readonly answering: Array<ServerResponse>
  /** When its last request was answered, or when it was opened. */
  lastAt: number
}

/** A response without headers yet must announce the end of the connection. */
const closeAfter = (response: ServerResponse): void => {
  if (!response.headersSent) response.shouldKeepAlive = false
}

/**
 * Runs before all other listeners of the server.
 *
 * @param withinMs `close` calls back no later than this.
 * @param begin Called once, when `close` is called.
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
  /** The event of a connection that carries requests: for HTTPS the TLS one, not the TCP one below. */
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
