/**
 * Kept-alive connections to one preview's port. An `http.Agent` over the guest's streams, which are not sockets.
 *
 * @source node:http Agent: createConnection
 */
import { Agent, type ClientRequestArgs } from "node:http"
import type { Duplex } from "node:stream"
import { type Dial, Upstreams } from "./Upstream.ts"

/** The limit on open connections: see ATOLL_CONNECTIONS_PER_SANDBOX. */
const idleMax = 256

/** A hand-over to node:http costs the connection. */
const othersMax = 16

type Created = (error: Error | null, stream: Duplex) => void

const nothing = () => {}

/** Adds the socket methods that the Agent calls. */
const asSocket = (stream: Duplex): Duplex => {
  const socket = stream as Duplex & Partial<Record<"ref" | "unref" | "setKeepAlive" | "setTimeout", () => void>>
  socket.ref ??= nothing
  socket.unref ??= nothing
  socket.setKeepAlive ??= nothing
  socket.setTimeout ??= nothing
  // The program may end an idle connection; it is then useless, although HTTP/2 would keep its other half open.
  return stream.once("end", () => stream.end())
}

export class PreviewPool extends Agent {
  private readonly dial: Dial
  readonly upstreams: Upstreams
  lastUsedAt = Date.now()
  /** How many answers are read by node:http without another try. */
  #others = 0

  constructor(dial: Dial) {
    super({ keepAlive: true, maxFreeSockets: idleMax, scheduling: "lifo" })
    this.dial = dial
    this.upstreams = new Upstreams(dial, idleMax)
    this.on("free", () => {
      this.lastUsedAt = Date.now()
    })
  }

  override destroy(): void {
    this.upstreams.destroy()
    super.destroy()
  }

  override createConnection(_options: ClientRequestArgs, created?: Created): undefined {
    this.dial().then(
      (stream) => created?.(null, asSocket(stream)),
      (error: Error) => created?.(error, undefined as never)
    )
  }

  /** Whether the next answer is expected to be a plain one. A program whose last one was not seldom gives one. */
  nextIsSimple(): boolean {
    this.lastUsedAt = Date.now()
    return this.#others-- <= 0
  }

  noteOther(): void {
    this.#others = othersMax
  }

  get isIdle(): boolean {
    return this.upstreams.isIdle && Object.keys(this.sockets).length === 0 && Object.keys(this.requests).length === 0
  }
}
