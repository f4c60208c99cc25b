/**
 * The least that a service of followed output does, as one Node process without any other code: it reads bytes from a unix socket, stores them as rows
 * of 64 KiB by Postgres' own protocol, without a copy and without waiting for the disk, flushes after every 256 KiB, and gives what is stored to one
 * client over HTTP, as server-sent events with base64. Like Atoll it holds at most 2 MiB that are not on disk.
 *
 * Arguments: the path to listen on for the bytes, the port for HTTP, the socket file of Postgres. Each connection continues the stream of the one before.
 */
import { createServer as createHttpServer, type ServerResponse } from "node:http"
import { connect, createServer, type Socket } from "node:net"

const [bytesPath = "", port = "", postgresPath = ""] = process.argv.slice(2)

const rowBytes = 64 * 1024
const flushEveryBytes = 256 * 1024
const windowBytes = 2 * 1024 * 1024
const statementBytes = 1024 * 1024

/** A message of the protocol: its letter, its length, its content. */
const message = (letter: string, ...parts: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> => {
  const head = Buffer.alloc(5)
  head.write(letter)
  head.writeInt32BE(4 + parts.reduce((sum, part) => sum + part.length, 0), 1)
  return [head, ...parts]
}

const text = (value: string) => Buffer.from(`${value}\0`)
const int16 = (value: number) => Buffer.of(value >> 8, value)
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const parameter = (value: Uint8Array): ReadonlyArray<Uint8Array> => [int32(value.length), value]
const int8 = (value: number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

/** One connection with one prepared statement; `run` sends messages and resolves when the server has answered all. */
class Connection {
  readonly #socket: Socket
  #ready: (() => void) | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on("data", (bytes: Buffer) => {
      if (bytes.includes("ERROR")) throw new Error(bytes.toString("latin1"))
      // ReadyForQuery ends each answer.
      if (bytes.at(-6) === 0x5a) this.#ready?.()
    })
  }

  static async open(statement: string, synchronousCommit: "on" | "off"): Promise<Connection> {
    const connection = new Connection(connect(postgresPath))
    const settings = ["user", "postgres", "database", "postgres", "synchronous_commit", synchronousCommit].map(text)
    const length = 4 + 4 + settings.reduce((sum, it) => sum + it.length, 0) + 1
    await connection.run([int32(length), int32(3 << 16), ...settings, Buffer.of(0)])
    await connection.run([...message("P", text("one"), text(statement), int16(0)), ...message("S")])
    return connection
  }

  run(parts: ReadonlyArray<Uint8Array>): Promise<void> {
    return new Promise((resolve) => {
      this.#ready = resolve
      this.#socket.cork()
      for (const part of parts) this.#socket.write(part)
      this.#socket.uncork()
    })
  }
}

const bind = (...parameters: ReadonlyArray<Uint8Array>) => [
  ...message(
    "B",
    ...[text(""), text("one"), int16(1), int16(1), int16(parameters.length)],
    ...parameters.flatMap(parameter),
    int16(0)
  ),
  ...message("E", text(""), int32(0))
]

const stores = await Connection.open(
  `insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, bytes)
   values ('owner', 'stdout', $1::int8, $2::int8, 'sandbox', 'process', 1, $3::bytea)`,
  "off"
)
const flushes = await Connection.open("select pg_logical_emit_message(true, 'bare', ''::text)", "on")

/** Bytes of the stream that are at Postgres, and that are on disk. */
let stored = 0
let flushed = 0
let waiting: Array<Uint8Array> = []
let waitingBytes = 0
let isOver = false
let isStoring = false
let isFlushing = false
let source: Socket
let client: ServerResponse

const pace = () => {
  if (waitingBytes >= statementBytes || stored + waitingBytes - flushed >= windowBytes) source.pause()
  else source.resume()
}

const isFlushDue = () => stored > flushed && (isOver || stored - flushed >= flushEveryBytes)

const flush = async () => {
  if (isFlushing) return
  isFlushing = true
  while (isFlushDue()) {
    const before = stored
    await flushes.run([...bind(), ...message("S")])
    flushed = before
    pace()
  }
  isFlushing = false
  if (isOver && waitingBytes === 0 && !isStoring) client.end()
}

const event = (from: number, bytes: Buffer) =>
  `id: ${from + bytes.length}-0\nevent: output\ndata: {"offset":${from},"data":"${bytes.toString("base64")}"}\n\n`

const store = async () => {
  if (isStoring) return
  isStoring = true
  while (waitingBytes > 0) {
    const all = Buffer.concat(waiting)
    waiting = []
    waitingBytes = 0
    pace()
    const rows: Array<{ readonly from: number; readonly bytes: Buffer }> = []
    for (let at = 0; at < all.length; at += rowBytes)
      rows.push({ from: stored + at, bytes: all.subarray(at, at + rowBytes) })
    const binds = rows.flatMap(({ from, bytes }) => bind(int8(from), int8(from + bytes.length), bytes))
    await stores.run([...binds, ...message("S")])
    stored += all.length
    for (const { from, bytes } of rows) client.write(event(from, bytes), "latin1")
    void flush()
  }
  isStoring = false
  void flush()
}

createServer((socket) => {
  source = socket
  isOver = false
  socket.on("data", (bytes) => {
    waiting.push(bytes)
    waitingBytes += bytes.length
    pace()
    void store()
  })
  socket.on("end", () => {
    isOver = true
    void store()
  })
}).listen(bytesPath)

createHttpServer((_, answer) => {
  client = answer
  answer.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
}).listen(Number(port), "127.0.0.1", () => console.log("up"))
