/** The HTTP/2 session with one agent: opened when it is needed, reopened after a break, closed when it is idle, and ended when its agent is silent. */
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import type { Duplex } from "node:stream"
import { EagerTransport } from "./EagerTransport.ts"
import { isAnswering } from "./isAnswering.ts"
import type { ConnectPlain } from "./plainTunnels.ts"
import { scaleAnswerTimeout } from "./readAnswer.ts"
import { StallBreaker } from "./StallBreaker.ts"

/**
 * Bytes in flight to the service: of one stream, and of all streams of a session. Node returns the session's window as bytes arrive, so each slow
 * reader holds one stream window. From the agent's own socket, 256 KiB is as fast as 4 MiB. Over another transport, where a window returns through
 * one more process, a mebibyte is an eighth faster.
 */
const STREAM_WINDOW_BYTES = 256 * 1024
const EAGER_STREAM_WINDOW_BYTES = 1024 ** 2
const SESSION_WINDOW_BYTES = 16 * 1024 ** 2
/** The session's window, and the same again for frame headers and control frames. */
const AHEAD_MAX_BYTES = 2 * SESSION_WINDOW_BYTES
const HEADERS_MAX_BYTES = 16 * 1024
const CONNECT_TIMEOUT_MS = 10_000
/** How long an agent that left a request unanswered may leave a ping unanswered before its session is ended. */
const SILENCE_MAX_MS = 20_000
const IDLE_MS = 30_000

export interface AgentSessionOptions {
  /** Opens the transport; called again after the session broke. */
  readonly connect: () => Promise<Duplex>
  /** Opens further connections to the same agent, for one tunnelled connection each. Absent: these travel in the session. */
  readonly connectPlain?: ConnectPlain
  /** Closes an unused session after this long; null keeps it. Default 30 s. */
  readonly idleMs?: number | null
  /**
   * True while the host itself holds the machine up, so that the agent's silence has no meaning. Default: never. Called before a session is ended for
   * its silence.
   */
  readonly isHeldUp?: () => Promise<boolean>
  /** Multiplies every wait for the agent. Default 1; a test with agents that never answer would otherwise wait for minutes. */
  readonly waiting?: number
}

interface OpenSession {
  readonly session: ClientHttp2Session
  /** Ends the session by its transport: `destroy` would first write a GOAWAY, and wait while the agent does not read. */
  readonly end: () => void
}

export class AgentConnection {
  readonly #options: AgentSessionOptions
  readonly #idleMs: number | null
  #current: Promise<OpenSession> | null = null
  #openStreams = 0
  /** The breakers of the session's transport, and of an earlier one that is still closing. */
  readonly #breakers = new Set<StallBreaker>()
  #idleTimer: NodeJS.Timeout | null = null
  readonly #ends = new WeakMap<object, () => void>()
  /** Sessions whose agent is being pinged. */
  readonly #doubted = new WeakSet<object>()

  constructor(options: AgentSessionOptions) {
    this.#options = options
    this.#idleMs = options.idleMs === undefined ? IDLE_MS : options.idleMs
  }

  /** Scales a time `ms` by `waiting`. */
  within(ms: number): number {
    return ms * (this.#options.waiting ?? 1)
  }

  async session(): Promise<ClientHttp2Session> {
    this.#current ??= this.#open()
    const open = (await this.#current).session
    if (!open.closed && !open.destroyed) return open
    this.#current = this.#open()
    return (await this.#current).session
  }

  /** Called before the session exists: the end of an earlier idle time must not close the session that is being opened. */
  streamWanted(): void {
    this.#openStreams++
    if (this.#idleTimer === null) return
    clearTimeout(this.#idleTimer)
    this.#idleTimer = null
  }

  streamOpened(): void {
    for (const breaker of this.#breakers) breaker.begin()
  }

  /** Called once for each `streamWanted`. */
  streamClosed(): void {
    this.#openStreams--
    if (this.#openStreams > 0) return
    for (const breaker of this.#breakers) breaker.end()
    this.closeWhenIdle()
  }

  closeWhenIdle(): void {
    if (this.#idleMs === null || this.#openStreams > 0) return
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = null
      const idle = this.#current
      if (this.#openStreams > 0 || idle === null) return
      this.#current = null
      idle.then(({ session }) => session.close()).catch(() => {})
    }, this.#idleMs)
    this.#idleTimer.unref()
  }

  /**
   * Ends a session whose agent answers neither requests nor pings: the process that served it may be gone while its transport stays open, and only a
   * new session reaches its replacement. Two pings, so that a pause of this process does not count as the agent's silence.
   */
  async endIfSilent(on: ClientHttp2Session): Promise<void> {
    if (this.#doubted.has(on)) return
    this.#doubted.add(on)
    const isThere = async () =>
      (await isAnswering(on, this.within(SILENCE_MAX_MS / 2))) || ((await this.#options.isHeldUp?.()) ?? false)
    const answers = (await isThere()) || (await isThere())
    this.#doubted.delete(on)
    if (!answers) this.#ends.get(on)?.()
  }

  close(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    const closing = this.#current
    this.#current = null
    closing?.then(({ end }) => end()).catch(() => {})
  }

  #drop(session: Promise<OpenSession>): void {
    if (this.#current === session) this.#current = null
  }

  #open(): Promise<OpenSession> {
    const opening: Promise<OpenSession> = openTransport(this.#options.connect).then((raw) => {
      const breaker = StallBreaker.of(raw)
      const transport = breaker === null ? new EagerTransport(raw, AHEAD_MAX_BYTES) : raw
      if (breaker !== null) this.#watch(breaker, transport)
      const session = sessionOver(transport, breaker === null ? EAGER_STREAM_WINDOW_BYTES : STREAM_WINDOW_BYTES)
      scaleAnswerTimeout(session, this.within(1))
      const end = () => {
        this.#drop(opening)
        transport.destroy()
      }
      this.#ends.set(session, end)
      session.on("error", end)
      session.on("goaway", () => this.#drop(opening))
      session.on("close", end)
      return { session, end }
    })
    opening.catch(() => this.#drop(opening))
    return opening
  }

  #watch(breaker: StallBreaker, transport: Duplex): void {
    this.#breakers.add(breaker)
    transport.once("close", () => {
      breaker.end()
      this.#breakers.delete(breaker)
    })
  }
}

const sessionOver = (transport: Duplex, initialWindowSize: number): ClientHttp2Session => {
  const session = connectHttp2("http://agent", {
    createConnection: () => transport,
    maxHeaderListPairs: 64,
    maxSessionMemory: 64,
    maxReservedRemoteStreams: 0,
    settings: { enablePush: false, initialWindowSize, maxHeaderListSize: HEADERS_MAX_BYTES }
  })
  session.setLocalWindowSize(SESSION_WINDOW_BYTES)
  return session
}

const openTransport = (connect: () => Promise<Duplex>): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      reject(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`))
    }, CONNECT_TIMEOUT_MS)
    connect().then(
      (transport) => {
        clearTimeout(timer)
        if (late) transport.destroy()
        else resolve(transport)
      },
      (cause) => {
        clearTimeout(timer)
        reject(cause)
      }
    )
  })
