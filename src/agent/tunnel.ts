/** `CONNECT :port`: one TCP connection to the Sandbox's own loopback. 200 when it is open, 409 `PORT_CLOSED` when no program listens. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2"
import { connect, type OnReadOpts, type Socket } from "node:net"
import { Refusal } from "./routes.ts"

/** A development server may listen on only one of the two. */
const LOOPBACKS = ["127.0.0.1", "::1"]
const CONNECT_TIMEOUT_MS = 5_000

export const tunnel = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
  const port = Number(/:(\d{1,5})$/.exec(headers[":authority"] ?? "")?.[1])
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Refusal(400, "INVALID_REQUEST", "No such port")
  const socket = await dialLoopback(port)
  if (stream.destroyed || stream.closed) {
    socket.destroy()
    return
  }
  socket.setNoDelay(true)
  stream.respond({ ":status": 200 })
  // Half-open in both directions: an end of one direction is passed on, a break of either side breaks both.
  stream.pipe(socket)
  socket.pipe(stream)
  // `close` would end the stream before it resets it: a cut answer would look whole.
  socket.on("error", (cause) => stream.destroy(cause))
  stream.on("close", () => socket.destroy())
  stream.on("aborted", () => socket.destroy())
}

/** Refuses with `PORT_CLOSED`. `onread` gets the bytes in place of the events `data`. */
export const dialLoopback = async (port: number, onread?: OnReadOpts): Promise<Socket> => {
  for (const host of LOOPBACKS) {
    const socket = await dial(host, port, onread)
    if (socket !== null) return socket
  }
  throw new Refusal(409, "PORT_CLOSED", `Nothing listens on port ${port}`)
}

const dial = (host: string, port: number, onread: OnReadOpts | undefined): Promise<Socket | null> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true, ...(onread === undefined ? {} : { onread }) })
    const give = (result: Socket | null) => {
      clearTimeout(timer)
      socket.removeAllListeners()
      if (result === null) {
        socket.on("error", () => {})
        socket.destroy()
      }
      resolve(result)
    }
    const timer = setTimeout(() => give(null), CONNECT_TIMEOUT_MS)
    socket.once("connect", () => give(socket))
    socket.once("error", () => give(null))
  })
