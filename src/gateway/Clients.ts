/** Whose each request is: the other end of its connection, or, where that is a trusted proxy, whom the proxy names. */
import type { IncomingMessage, Server } from "node:http"
import { type Client, clientBehind, type Trusts } from "./forwardedFor.ts"
import { plainAddress } from "./peerAddress.ts"

/** Noted when the request arrives, and only where there are proxies. */
const clients = new WeakMap<IncomingMessage, Client>()

const nobody: Trusts = () => false

export const clientOf = (request: IncomingMessage): Client =>
  clients.get(request) ?? clientBehind(plainAddress(request.socket.remoteAddress), request.headers, nobody)

/** Empty where the connection was gone before anybody asked. */
export const clientAddress = (request: IncomingMessage): string =>
  clients.get(request)?.address ?? plainAddress(request.socket.remoteAddress)

const arrivals: ReadonlySet<string> = new Set(["request", "upgrade", "checkContinue", "checkExpectation"])

/**
 * Puts itself before all who listen to the server by now.
 *
 * @param onDispute Told of each request of which a proxy says two things.
 */
export const noteClients = (server: Server, trusts: Trusts, onDispute: (proxy: string) => void): void => {
  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (arrivals.has(event)) {
      const request = args[0] as IncomingMessage
      const client = clientBehind(plainAddress(request.socket.remoteAddress), request.headers, trusts)
      clients.set(request, client)
      if (client.isDisputed) onDispute(client.address)
    }
    return passOn(event, ...args)
  }
}
