/**
 * The agent's listening address: `fd:N` (a listening socket that the driver made and passed on), `unix:PATH`, `device:PATH` (one character device
 * that carries one session after the other, see serialLink.ts), or `relay:IN,OUT` (such a device as two descriptors: a pipe into which another
 * process copies the input, and the device itself for output). A relay exists because a virtio-serial port delivers 4 KiB per read, and a read
 * through Node's thread pool costs several times as much as one in a copying process.
 */
import { close, constants, open, read, write } from "node:fs"
import type { Http2Server } from "node:http2"
import { createServer, Socket } from "node:net"
import { Duplex } from "node:stream"
import { collectWhenAlone } from "./idleHeap.ts"
import { serveSerial } from "./serialLink.ts"
import { servePlain } from "./servePlain.ts"

const READ_BYTES = 64 * 1024
/** A port whose other side is closed reads as end of file until that side opens again. */
const REOPEN_POLL_MS = 20

/** Resolves once connections are accepted. */
export const listen = async (server: Http2Server, address: string): Promise<void> => {
  const [, scheme, rest] = /^(fd|unix|device|relay):(.+)$/.exec(address) ?? []
  if (scheme === undefined || rest === undefined) {
    throw new Error(
      `ATOLL_AGENT_LISTEN is ${JSON.stringify(address)}; it must be fd:N, unix:PATH, device:PATH or relay:IN,OUT`
    )
  }
  if (scheme === "device") {
    serveDevice(await openDevice(rest), server)
    return
  }
  if (scheme === "relay") {
    const [input, output] = rest.split(",").map(Number)
    const device = new CharacterDevice(output!, new Socket({ fd: input!, readable: true, writable: false }))
    serveDevice(device, server)
    return
  }
  const sockets = createServer((socket) => servePlain(socket, () => server.emit("connection", socket)))
  collectWhenAlone(sockets)
  await new Promise<void>((resolve, reject) => {
    sockets.once("error", reject)
    if (scheme === "fd") sockets.listen({ fd: Number(rest) }, resolve)
    else sockets.listen(rest, resolve)
  })
}

/** Without its device the agent cannot be reached any more: it exits, and PID 1 starts another. */
const serveDevice = (device: Duplex, server: Http2Server): void => {
  device.on("error", (cause) => console.error(cause)).on("close", () => process.exit(1))
  serveSerial(device, (session) => server.emit("connection", session))
}

const openDevice = (path: string): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    open(path, constants.O_RDWR, (error, fd) => (error ? reject(error) : resolve(new CharacterDevice(fd))))
  })

/** Reads and writes go through the thread pool, because libuv has no support for character devices. One read is always pending. */
class CharacterDevice extends Duplex {
  private readonly fd: number
  private readonly input: Socket | null

  /** `input` replaces the device for reads. */
  constructor(fd: number, input: Socket | null = null) {
    super()
    this.fd = fd
    this.input = input
    input?.on("data", (chunk: Buffer) => this.push(chunk) || input.pause())
    input?.on("close", () => this.destroy())
  }

  override _read(): void {
    if (this.input !== null) {
      this.input.resume()
      return
    }
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    read(this.fd, buffer, 0, READ_BYTES, null, (error, bytes) => {
      if (this.destroyed) return
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") this.destroy(error)
      else if (error !== null || bytes === 0) setTimeout(() => this._read(), REOPEN_POLL_MS)
      else this.push(buffer.subarray(0, bytes))
    })
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    write(this.fd, chunk, 0, chunk.length, null, (error, written) => {
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") done(error)
      else if (error !== null) setTimeout(() => this._write(chunk, encoding, done), REOPEN_POLL_MS)
      else if (written < chunk.length) this._write(chunk.subarray(written), encoding, done)
      else done()
    })
  }

  /** Writes as one chunk all data that gathered during the previous write. */
  override _writev(chunks: ReadonlyArray<{ readonly chunk: Buffer }>, done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "buffer" as BufferEncoding, done)
  }

  override _destroy(cause: Error | null, done: (error?: Error | null) => void): void {
    close(this.fd, () => done(cause))
  }
}
