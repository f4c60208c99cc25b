/**
 * What is written to several connections in one turn of the event loop is sent at its end, one right after the other: the process at the other
 * ends is woken once, and not for each of them.
 */
import type { Socket } from "node:net"

let corked: Array<Socket> = []

const sendAll = (): void => {
  const due = corked
  corked = []
  for (const socket of due) socket.uncork()
}

/** Keeps what is written to the connection until this turn ends, or until it ends. */
export const atTurnsEnd = (socket: Socket): void => {
  if (socket.writableCorked > 0) return
  if (corked.length === 0) setImmediate(sendAll)
  corked.push(socket)
  socket.cork()
}
