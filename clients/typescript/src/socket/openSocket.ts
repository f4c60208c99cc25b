/** A WebSocket by the means of whatever this runs in. */
import type { Handshake, MessageSocket, SocketListener } from "./MessageSocket.ts"

/** Node, Deno or Bun: there is node:http. */
export const canOpenSockets = (): boolean => {
  const { process } = globalThis as { readonly process?: { readonly versions?: { readonly node?: string } } }
  return typeof process?.versions?.node === "string"
}

export const openSocket = async (handshake: Handshake, listener: SocketListener): Promise<MessageSocket> => {
  const { nodeSocket } = await import("../node/nodeSocket.ts")
  return nodeSocket(handshake, listener)
}
