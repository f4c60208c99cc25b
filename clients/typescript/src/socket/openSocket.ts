/** A WebSocket by the means of whatever this runs in. */
import { globalSocket } from "./globalSocket.ts"
import type { Handshake, MessageSocket, SocketListener } from "./MessageSocket.ts"

/** Node, Deno or Bun: there are sockets, files and streams of Node. */
export const hasNode = (): boolean => {
  const { process } = globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } }
  return typeof process?.versions?.node === "string"
}

/** Fails where there are none: in browsers. `what` begins a sentence. */
export const needNode = (what: string): void => {
  if (!hasNode()) throw new TypeError(`${what} Node, Deno or Bun: a browser has no such thing.`)
}

export const openSocket = async (handshake: Handshake, listener: SocketListener): Promise<MessageSocket> => {
  if (!hasNode()) return globalSocket(handshake, listener)
  const { nodeSocket } = await import("../node/nodeSocket.ts")
  return nodeSocket(handshake, listener)
}
