/**
 * The agent's end of plain tunnels (plainFrames.ts): bytes of previews, tunnels and SSH without HTTP/2, whose frames and windows cost several times as
 * much as the copying. The socket is the one on which the agent serves HTTP/2, so the same processes can open both.
 */
import type { Socket } from "node:net"
import {
  answerLines,
  END_FRAME,
  FrameCutter,
  HEAD_BYTES,
  LINE_MAX_BYTES,
  NO_FRAME,
  portIn,
  READ_BYTES,
  REQUEST_FIRST_BYTE
} from "./plainFrames.ts"
import { Refusal } from "./routes.ts"
import { atTurnsEnd } from "./sentTogether.ts"
import { STREAMS_MAX } from "./server.ts"
import { dialLoopback } from "./tunnel.ts"

/** How long a request line may take from its first byte on. */
const LINE_TIMEOUT_MS = 5_000
/** How often a connection whose program does not read is asked whether its peer is still there: what is not read from reports no end. */
const ASK_EVERY_MS = 250

/** Looks at the first byte of a connection: a plain tunnel is served here, all others are passed on as they came. */
export const servePlain = (socket: Socket, otherwise: (socket: Socket) => void): void => {
  socket.on("error", () => {})
  const look = () => {
    const first = socket.read() as Buffer | null
    if (first === null) return
    socket.off("readable", look)
    socket.unshift(first)
    if (first[0] === REQUEST_FIRST_BYTE) void serve(socket)
    else otherwise(socket)
  }
  socket.on("readable", look)
}

/** Up to this length, what is read from several connections is sent on together. */
const SENT_TOGETHER_BYTES = 4096

let open = 0

const serve = async (socket: Socket): Promise<void> => {
  open++
  socket.once("close", () => open--)
  const line = await readLine(socket)
  if (line === null) return void socket.destroy()
  const port = portIn(line)
  if (port === null || open > STREAMS_MAX) return void socket.end(`${answerLines.refused}\n`)
  try {
    await join(socket, port)
  } catch (cause) {
    socket.end(`${cause instanceof Refusal ? answerLines.portClosed : answerLines.refused}\n`)
  }
}

/** Null if none came: too long, too late, or broken off. What follows it stays unread. */
const readLine = (socket: Socket): Promise<string | null> =>
  new Promise((resolve) => {
    let line = Buffer.alloc(0)
    const settle = (found: string | null) => {
      clearTimeout(timer)
      socket.off("data", take).off("close", broke).pause()
      resolve(found)
    }
    const broke = () => settle(null)
    const timer = setTimeout(broke, LINE_TIMEOUT_MS)
    const take = (bytes: Buffer) => {
      line = Buffer.concat([line, bytes])
      const end = line.indexOf("\n")
      if (end < 0 && line.length < LINE_MAX_BYTES) return
      settle(end < 0 || end >= LINE_MAX_BYTES ? null : line.toString("latin1", 0, end))
      // After the pause: before it, this would call `take` again.
      if (end >= 0 && end + 1 < line.length) socket.unshift(line.subarray(end + 1))
    }
    socket.on("data", take).on("close", broke)
  })

/** Dials the port and joins the two connections. */
const join = async (socket: Socket, port: number): Promise<void> => {
  const frames = new FramedReads(socket)
  const program = await dialLoopback(port, frames.onread)
  program.on("error", () => {})
  if (socket.destroyed) return void program.destroy()
  program.setNoDelay(true)
  // Nothing of the program is read before this is written, because that takes another turn of the event loop.
  socket.write(`${answerLines.open}\n`)
  const cutter = new FrameCutter()
  let sentEnd = false
  const endIfBoth = () => {
    if (sentEnd && cutter.hasEnded) socket.end()
  }
  // The service was cut or has died; or the program was reset, or is gone.
  const destroyUnlessBoth = () => {
    if (!(sentEnd && cutter.hasEnded)) socket.destroy()
  }
  const give = (slice: Buffer) => {
    if (slice.length <= SENT_TOGETHER_BYTES) atTurnsEnd(program)
    program.write(slice)
  }
  let asking: NodeJS.Timeout | undefined
  const askNoMore = () => {
    clearInterval(asking)
    asking = undefined
  }

  socket.on("data", (bytes: Buffer) => {
    if (!cutter.cut(bytes, give)) return void socket.destroy()
    if (cutter.hasEnded) {
      program.end()
      endIfBoth()
    } else if (program.writableNeedDrain) {
      socket.pause()
      asking ??= setInterval(() => void (socket.writableLength > 0 || socket.write(NO_FRAME)), ASK_EVERY_MS)
    }
  })
  socket.on("end", destroyUnlessBoth)
  socket.on("drain", () => program.resume())
  socket.on("close", () => {
    askNoMore()
    program.destroy()
  })
  program.on("drain", () => {
    askNoMore()
    socket.resume()
  })
  program.on("end", () => {
    sentEnd = true
    socket.write(END_FRAME)
    endIfBoth()
  })
  program.on("close", destroyUnlessBoth)
  socket.resume()
}

/** Reads of the program's bytes behind the room for a frame's head: each becomes a frame without being copied. */
class FramedReads {
  #frame = Buffer.allocUnsafeSlow(HEAD_BYTES + READ_BYTES)
  #room = this.#frame.subarray(HEAD_BYTES)
  readonly #to: Socket

  constructor(to: Socket) {
    this.#to = to
  }

  readonly onread = {
    buffer: (): Uint8Array => this.#room,
    callback: (bytes: number): boolean => {
      const to = this.#to
      this.#frame.writeUInt32BE(bytes)
      if (bytes <= SENT_TOGETHER_BYTES) {
        atTurnsEnd(to)
        return to.write(Buffer.from(this.#frame.subarray(0, HEAD_BYTES + bytes)))
      }
      const hasRoom = to.write(this.#frame.subarray(0, HEAD_BYTES + bytes))
      // The kernel has not taken everything: the rest is sent from this memory.
      if (to.writableLength > 0) {
        this.#frame = Buffer.allocUnsafeSlow(HEAD_BYTES + READ_BYTES)
        this.#room = this.#frame.subarray(HEAD_BYTES)
      }
      return hasRoom
    }
  }
}
