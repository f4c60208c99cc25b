/**
 * The connections of this process's own HTTP clients: the client sees their exchanges, so a server does not report them
 * again.
 */
import { subscribe } from "node:diagnostics_channel"
import type { ClientRequest } from "node:http"
import type { Socket } from "node:net"

const ports = new Set<number>()

const note = (socket: Socket): void => {
  const noteOpen = () => {
    const { localPort } = socket
    if (localPort === undefined) return
    ports.add(localPort)
    socket.once("close", () => ports.delete(localPort))
  }
  if (socket.connecting) socket.once("connect", noteOpen)
  else if (!ports.has(socket.localPort!)) noteOpen()
}

/** @param port The client's end. */
export const isOwn = (port: number): boolean => ports.has(port)

/** From now on. */
export const watchSockets = (): void => {
  subscribe("http.client.request.created", (message) => {
    ;(message as { readonly request: ClientRequest }).request.once("socket", note)
  })
  subscribe("undici:client:connected", (message) => note((message as { readonly socket: Socket }).socket))
}
