/**
 * One TCP connection inside one WebSocket, the same on both ends. Messages carry its bytes. With the subprotocol `atoll.tunnel` bytes are
 * binary, and the text message `end` ends one direction; without it the first end ends both. Backpressure works in both directions.
 *
 * @source RFC 6455; schemas/ServiceAccess.ts
 */
import type { Duplex } from "node:stream"
import type { WebSocket } from "ws"
import { readEach } from "../../runtime/readInPlace.ts"

export const tunnelProtocol = "atoll.tunnel"
/** Maximum size of a message from either side. */
export const tunnelMessageMaxBytes = 1024 * 1024

const endOfDirection = "end"
const bufferedMaxBytes = 256 * 1024
const pingEveryMs = 30_000

/** Copies until both directions have ended or either side breaks; then closes both. */
export const bridge = (socket: WebSocket, stream: Duplex): void => {
  const halfCloses = socket.protocol === tunnelProtocol
  let sentEnd = false
  let gotEnd = false
  let isAlive = true

  const finish = () => {
    if (sentEnd && gotEnd) socket.close(1000)
  }
  const pings = setInterval(() => {
    // While the other side takes no bytes, the socket is paused, and a pong cannot arrive either.
    if (!isAlive && !socket.isPaused) return socket.terminate()
    isAlive = false
    socket.ping()
  }, pingEveryMs)
  pings.unref()
  socket.on("pong", () => {
    isAlive = true
  })

  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (isBinary || !halfCloses) {
      if (!stream.writableEnded && !stream.write(data)) socket.pause()
    } else if (data.toString() === endOfDirection) {
      gotEnd = true
      stream.end()
      finish()
    }
  })
  stream.on("drain", () => socket.resume())

  let isHeld = false
  const roomAgain = () => {
    if (!isHeld || socket.bufferedAmount > bufferedMaxBytes) return
    isHeld = false
    stream.resume()
  }
  readEach(stream, (chunk) => {
    if (socket.readyState !== socket.OPEN) return true
    socket.send(chunk, { binary: true }, roomAgain)
    if (socket.bufferedAmount > bufferedMaxBytes) {
      isHeld = true
      stream.pause()
    }
    return socket.bufferedAmount === 0
  })
  stream.on("end", () => {
    sentEnd = true
    if (!halfCloses) gotEnd = true
    else if (socket.readyState === socket.OPEN) socket.send(endOfDirection)
    finish()
  })
  stream.on("error", () => socket.terminate())
  stream.on("close", () => {
    if (!(sentEnd && gotEnd) && socket.readyState === socket.OPEN) socket.close(1011, "the connection broke")
  })
  socket.on("error", () => stream.destroy())
  socket.on("close", () => {
    clearInterval(pings)
    stream.destroy()
  })
}
