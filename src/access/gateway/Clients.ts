/** The client of each request: the peer of its connection, or, if that is a trusted proxy, the client that the proxy names. */
import type { IncomingMessage, Server } from "node:http"
import { type Client, clientBehind, type Trusts } from "./forwardedFor.ts"
import { plainAddress } from "./peerAddress.ts"

/** Filled when a request arrives, and only if there are proxies. */
const clients = new WeakMap<IncomingMessage, Client>()

const nobody: Trusts = () => false

export const clientOf = (request: IncomingMessage): Client =>
  clients.get(request) ?? clientBehind(plainAddress(request.socket.remoteAddress), request.headers, nobody)

/** Empty if the connection was closed before. */
export const clientAddress = (request: IncomingMessage): string =>
  clients.get(request)?.address ?? plainAddress(request.socket.remoteAddress)

const arrivals: ReadonlySet<string> = new Set(["request", "upgrade", "checkContinue", "checkExpectation"])

/**
 * Runs before all present listeners of the server.
 *
 * @param onDispute Called for each request in which a proxy's headers contradict each other.
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
