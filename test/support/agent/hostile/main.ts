/**
 * An agent that was taken over: listens on the unix socket of its first argument and treats each connection by its last
 * script.
 */
import { createServer, type ServerHttp2Stream } from "node:http2"
import { createServer as createSocketServer, type Socket } from "node:net"
import type { Piece, Script } from "./script.ts"

let script: Script = { as: "http", body: [] }
process.on("message", (next: Script) => {
  script = next
  process.send!("told")
})
process.on("disconnect", () => process.exit())

/** Writes it as often as the script says, at its reader's pace. */
const write = async (to: ServerHttp2Stream | Socket, { bytes, times = 1 }: Piece): Promise<void> => {
  const piece = Buffer.from(bytes, "base64")
  const block =
    times === 1 ? piece : Buffer.concat(new Array(Math.max(1, Math.floor(65_536 / piece.length))).fill(piece))
  const inBlock = block.length / piece.length
  for (let done = 0; times === "forever" || done < times; done += inBlock) {
    if (to.destroyed) return
    const rest = times === "forever" ? inBlock : Math.min(inBlock, times - done)
    if (!to.write(block.subarray(0, rest * piece.length))) {
      await new Promise<void>((resolve) => to.once("drain", resolve).once("close", resolve))
    }
  }
}

/** Pending requests. */
let open = 0

const answer = async (stream: ServerHttp2Stream, it: Script): Promise<void> => {
  for (let heads = it.earlyHeads ?? 0; heads > 0 && !stream.destroyed; heads--) {
    stream.additionalHeaders({ ":status": 103, link: "<x>" })
    if (heads % 256 === 0) await new Promise(setImmediate)
  }
  if (it.after !== undefined) await new Promise((resolve) => setTimeout(resolve, it.after))
  if (stream.destroyed) return
  if (it.status !== undefined) stream.respond({ ":status": it.status, ...it.headers })
  if (it.bodyAfter !== undefined) await new Promise((resolve) => setTimeout(resolve, it.bodyAfter))
  for (const piece of it.body ?? []) await write(stream, piece)
  if (stream.destroyed) return
  switch (it.afterwards ?? "end") {
    case "end":
      stream.end()
      return
    case "reset":
      stream.close(2)
      return
    case "destroy":
      stream.session?.destroy()
      return
    case "goaway":
      stream.session?.goaway(1)
      return
    case "hang":
  }
}

const http = createServer({ maxSessionMemory: 256 })
http.on("sessionError", () => {})
http.on("session", (session) => session.on("error", () => {}))
http.on("stream", (stream, headers) => {
  stream.on("error", () => {})
  stream.resume()
  const [path] = (headers[":path"] ?? "").split("?") as [string]
  const it = script.at?.[path] ?? script
  open++
  stream.once("close", () => open--)
  if (open > (it.atMost ?? Number.POSITIVE_INFINITY)) {
    stream.respond({ ":status": 409 })
    stream.end('{"code":"TOO_MANY_PROCESSES","message":"enough"}')
  } else void answer(stream, it).catch(() => stream.destroy())
})

/** Length, type, flags, stream. */
const frame = (type: number, flags: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  return Buffer.concat([head, payload])
}
const settings = frame(4, 0, Buffer.alloc(0))

createSocketServer((socket) => {
  socket.on("error", () => {})
  /** A few at a time: more together overflow the queue of acknowledgements, which is noticed too. */
  const flood = (piece: Buffer) => {
    socket.resume()
    socket.write(settings)
    const few = Buffer.concat(new Array(20).fill(piece))
    const more = () => {
      if (!socket.destroyed) socket.write(few, () => setImmediate(more))
    }
    more()
  }
  switch (script.as) {
    case "http":
      http.emit("connection", socket)
      return
    case "garbage":
      socket.resume()
      socket.write("SSH-2.0-OpenSSH_9.2p1 \r\n".repeat(1000))
      return
    case "silence":
      return
    case "nothing after the connection":
      socket.resume()
      socket.write(settings)
      return
    case "pings":
      flood(frame(6, 0, Buffer.alloc(8)))
      return
    case "settings":
      flood(settings)
  }
}).listen(process.argv[2], () => process.send!("listens"))
