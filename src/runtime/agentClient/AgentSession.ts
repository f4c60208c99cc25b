/**
 * One HTTP/2 session with the agent of one Sandbox, over the duplex stream that the driver opens.
 *
 * The first request opens the session, and a request after a break opens it again. Without open streams it closes after `idleMs`. The agent is
 * untrusted: heads are timed, control answers are timed and sized, every fault is a `GuestUnavailable`, and a breach of the protocol ends the session
 * with all its streams (`held`).
 *
 * @source design.md "The runtime"
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders
} from "node:http2"
import type { Duplex } from "node:stream"
import { Effect, type Scope, Stream } from "effect"
import { SMALL_ANSWER_MAX_BYTES } from "../../agent/wire.ts"
import { GuestUnavailable } from "../Guest.ts"
import { EagerTransport } from "./EagerTransport.ts"
import { isAnswering } from "./isAnswering.ts"
import { StallBreaker } from "./StallBreaker.ts"
import { withGatheredReads } from "./smallReads.ts"

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
const HEAD_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
/** How long an agent that left a request unanswered may leave a ping unanswered before its session is ended. */
const SILENCE_MAX_MS = 20_000
const IDLE_MS = 30_000

export interface AgentSessionOptions {
  /** Opens the transport; called again after the session broke. */
  readonly connect: () => Promise<Duplex>
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

export interface AgentRequest {
  readonly method: string
  /** Path and query, `/v1/...`; null for CONNECT. */
  readonly path: string | null
  readonly headers?: OutgoingHttpHeaders
  /** The whole body; `open` leaves the stream writable for the caller; absent means none. */
  readonly body?: Uint8Array | "open"
  /** How long the head of the answer may take once the body was sent. Default 10 s; null waits for ever. */
  readonly headTimeoutMs?: number | null
  /** How long a slow agent may take in total while it answers the session's pings. Default: no longer than `headTimeoutMs`. */
  readonly patienceMs?: number
}

export interface AgentHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** A running request. The stream is reset when the scope closes. */
export interface AgentExchange {
  readonly stream: ClientHttp2Stream
  /** The answer's head, timed. */
  readonly head: Effect.Effect<AgentHead, GuestUnavailable>
}

/** A decoded control answer. */
export interface AgentAnswer {
  readonly status: number
  readonly body: unknown
}

export interface AgentSession {
  /** Sends a request without waiting for its answer: for bodies that stream. */
  readonly open: (request: AgentRequest) => Effect.Effect<AgentExchange, GuestUnavailable, Scope.Scope>
  /** Sends a request and waits for the answer's head; the body is read from `stream`. */
  readonly request: (
    request: AgentRequest
  ) => Effect.Effect<AgentHead & { readonly stream: ClientHttp2Stream }, GuestUnavailable, Scope.Scope>
  /** One JSON request and its JSON answer, at most `answerMaxBytes` (16 KiB) within 30 s. Does not check the status. */
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    options?: { readonly answerMaxBytes?: number; readonly patienceMs?: number }
  ) => Effect.Effect<AgentAnswer, GuestUnavailable>
  /** Scales a time `ms` by `waiting`. */
  readonly within: (ms: number) => number
  /** Runs an effect that decodes the agent's answer: a breach of the protocol in it ends the session. */
  readonly held: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly heldStream: <A, E, R>(stream: Stream.Stream<A, E, R>) => Stream.Stream<A, E, R>
  /**
   * Connects if necessary, so that the next request need not. Rejects with the error of `connect`. From then on the transport is watched, and its end
   * is noticed immediately.
   */
  readonly ready: () => Promise<void>
  /** Ends the session and everything on it; a later request opens a new one. */
  readonly close: () => void
}

type Fault = GuestUnavailable["fault"]

const unavailable = (message: string, fault: Fault): GuestUnavailable => new GuestUnavailable({ message, fault })

interface OpenSession {
  readonly session: ClientHttp2Session
  /** Ends the session by its transport: `destroy` would first write a GOAWAY, and wait while the agent does not read. */
  readonly end: () => void
}

/** Time-outs of sessions that differ from the default. */
const answerTimeouts = new WeakMap<object, number>()

/** Reads the whole body of an answer as JSON, sized and timed. Also used for refusals. */
export const readAnswer = (
  stream: ClientHttp2Stream,
  maxBytes = SMALL_ANSWER_MAX_BYTES
): Effect.Effect<unknown, GuestUnavailable> =>
  Effect.callback<unknown, GuestUnavailable>((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const stop = () => {
      clearTimeout(timer)
      stream.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    const fail = (message: string, fault: Fault) => {
      stop()
      stream.close(constants.NGHTTP2_CANCEL)
      resume(Effect.fail(unavailable(message, fault)))
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) fail("The Sandbox's agent broke its protocol: an answer is too large", "protocol")
      else chunks.push(chunk)
    }
    const onEnd = () => {
      stop()
      try {
        resume(Effect.succeed(size === 0 ? null : JSON.parse(Buffer.concat(chunks, size).toString("utf8"))))
      } catch {
        resume(Effect.fail(unavailable("The Sandbox's agent broke its protocol: an answer is not JSON", "protocol")))
      }
    }
    const onClose = () => fail("The Sandbox's agent broke off an answer", "lost")
    const timeoutMs = answerTimeouts.get(stream.session ?? stream) ?? ANSWER_TIMEOUT_MS
    const timer = setTimeout(() => fail("The Sandbox's agent did not finish its answer", "lost"), timeoutMs)
    stream.on("data", onData).on("end", onEnd).on("close", onClose)
    if (stream.destroyed) onClose()
    return Effect.sync(stop)
  })

export const makeAgentSession = (options: AgentSessionOptions): AgentSession => {
  const idleMs = options.idleMs === undefined ? IDLE_MS : options.idleMs
  const { waiting = 1 } = options
  const within = (ms: number) => ms * waiting
  let current: Promise<OpenSession> | null = null
  let openStreams = 0
  /** The breakers of the session's transport, and of an earlier one that is still closing. */
  const breakers = new Set<StallBreaker>()
  let idleTimer: NodeJS.Timeout | null = null

  const drop = (session: Promise<OpenSession>) => {
    if (current === session) current = null
  }

  const ends = new WeakMap<object, () => void>()
  /** Sessions whose agent is being pinged. */
  const doubted = new WeakSet<object>()

  /**
   * Ends a session whose agent answers neither requests nor pings: the process that served it may be gone while its transport stays open, and only a
   * new session reaches its replacement. Two pings, so that a pause of this process does not count as the agent's silence.
   */
  const endIfSilent = async (on: ClientHttp2Session): Promise<void> => {
    if (doubted.has(on)) return
    doubted.add(on)
    const isThere = async () =>
      (await isAnswering(on, within(SILENCE_MAX_MS / 2))) || ((await options.isHeldUp?.()) ?? false)
    const answers = (await isThere()) || (await isThere())
    doubted.delete(on)
    if (!answers) ends.get(on)?.()
  }

  const openSession = (): Promise<OpenSession> => {
    const opening: Promise<OpenSession> = openTransport(options.connect).then((raw) => {
      const breaker = StallBreaker.of(raw)
      const transport = breaker === null ? new EagerTransport(raw, AHEAD_MAX_BYTES) : raw
      if (breaker !== null) {
        breakers.add(breaker)
        transport.once("close", () => {
          breaker.end()
          breakers.delete(breaker)
        })
      }
      const session = connectHttp2("http://agent", {
        createConnection: () => transport,
        maxHeaderListPairs: 64,
        maxSessionMemory: 64,
        maxReservedRemoteStreams: 0,
        settings: {
          enablePush: false,
          initialWindowSize: breaker === null ? EAGER_STREAM_WINDOW_BYTES : STREAM_WINDOW_BYTES,
          maxHeaderListSize: HEADERS_MAX_BYTES
        }
      })
      session.setLocalWindowSize(SESSION_WINDOW_BYTES)
      if (waiting !== 1) answerTimeouts.set(session, within(ANSWER_TIMEOUT_MS))
      const end = () => {
        drop(opening)
        transport.destroy()
      }
      ends.set(session, end)
      session.on("error", end)
      session.on("goaway", () => drop(opening))
      session.on("close", end)
      return { session, end }
    })
    opening.catch(() => drop(opening))
    return opening
  }

  const session = async (): Promise<ClientHttp2Session> => {
    current ??= openSession()
    const open = (await current).session
    if (!open.closed && !open.destroyed) return open
    current = openSession()
    return (await current).session
  }

  /** Called before the session exists: the end of an earlier idle time must not close the session that is being opened. */
  const streamWanted = () => {
    openStreams++
    if (idleTimer !== null) {
      clearTimeout(idleTimer)
      idleTimer = null
    }
  }

  const closeWhenIdle = () => {
    if (idleMs === null || openStreams > 0) return
    if (idleTimer !== null) clearTimeout(idleTimer)
    idleTimer = setTimeout(() => {
      idleTimer = null
      const idle = current
      if (openStreams > 0 || idle === null) return
      current = null
      idle.then(({ session }) => session.close()).catch(() => {})
    }, idleMs)
    idleTimer.unref()
  }

  const streamClosed = () => {
    openStreams--
    if (openStreams > 0) return
    for (const breaker of breakers) breaker.end()
    closeWhenIdle()
  }

  const openStream = async (request: AgentRequest, signal: AbortSignal): Promise<ClientHttp2Stream> => {
    streamWanted()
    let stream: ClientHttp2Stream
    try {
      const on = await session()
      signal.throwIfAborted()
      stream = withGatheredReads(
        on.request(
          {
            ":method": request.method,
            ...(request.path === null ? {} : { ":path": request.path }),
            ...request.headers
          },
          { endStream: request.body === undefined }
        )
      )
    } catch (cause) {
      streamClosed()
      throw cause
    }
    for (const breaker of breakers) breaker.begin()
    stream.once("close", streamClosed)
    // Every reader listens for `close`; an error without a listener would end the process.
    stream.on("error", () => {})
    if (request.body instanceof Uint8Array) stream.end(request.body)
    return stream
  }

  const open = (request: AgentRequest): Effect.Effect<AgentExchange, GuestUnavailable, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.tryPromise({
          try: (signal) => openStream(request, signal),
          catch: (cause) => unavailable(`The Sandbox's agent cannot be reached: ${reason(cause)}`, "unreached")
        }),
        (stream) => Effect.sync(() => void (stream.destroyed || stream.close(constants.NGHTTP2_CANCEL))),
        { interruptible: true }
      ),
      (stream) => ({ stream, head: awaitHead(stream, request, within, endIfSilent) })
    )

  const request = (it: AgentRequest) =>
    Effect.flatMap(open(it), ({ stream, head }) => Effect.map(head, (answer) => ({ ...answer, stream })))

  const close = () => {
    if (idleTimer !== null) clearTimeout(idleTimer)
    const closing = current
    current = null
    closing?.then(({ end }) => end()).catch(() => {})
  }

  const endIfBroken = (fault: unknown) =>
    Effect.sync(() => {
      if (fault instanceof GuestUnavailable && fault.fault === "protocol") close()
    })
  const held: AgentSession["held"] = (effect) => Effect.tapError(effect, endIfBroken)

  return {
    open,
    request,
    call: (method, path, body, options = {}) =>
      request({
        method,
        path,
        ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
        ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs })
      }).pipe(
        Effect.flatMap(({ status, stream }) =>
          Effect.map(readAnswer(stream, status === 200 ? options.answerMaxBytes : undefined), (answer) => ({
            status,
            body: answer
          }))
        ),
        Effect.scoped,
        held
      ),
    within,
    held,
    heldStream: (stream) => Stream.tapError(stream, endIfBroken),
    ready: async () => {
      await session()
      closeWhenIdle()
    },
    close
  }
}

/** Keeps the head of a stream that emitted it before a listener was attached. */
const heads = new WeakMap<ClientHttp2Stream, AgentHead>()

const awaitHead = (
  stream: ClientHttp2Stream,
  request: AgentRequest,
  within: AgentSession["within"],
  onSilence: (session: ClientHttp2Session) => Promise<void>
): Effect.Effect<AgentHead, GuestUnavailable> => {
  stream.once("response", (headers) => {
    heads.set(stream, { status: headers[":status"] ?? 0, headers })
  })
  return Effect.callback<AgentHead, GuestUnavailable>((resume) => {
    const known = heads.get(stream)
    if (known !== undefined) return resume(Effect.succeed(known))
    let timer: NodeJS.Timeout | undefined
    let isWaiting = true
    const stop = () => {
      isWaiting = false
      clearTimeout(timer)
      stream.off("response", onResponse).off("close", onClose)
    }
    const onResponse = (headers: IncomingHttpHeaders & { [":status"]?: number }) => {
      stop()
      resume(Effect.succeed({ status: headers[":status"] ?? 0, headers }))
    }
    const onClose = () => {
      stop()
      // A peer that refuses a stream has done nothing for it (RFC 9113 section 8.7).
      const fault = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "unreached" : "lost"
      resume(Effect.fail(unavailable("The Sandbox's agent closed the connection", fault)))
    }
    const timeoutMs = request.headTimeoutMs === undefined ? HEAD_TIMEOUT_MS : request.headTimeoutMs
    const patienceMs = within(request.patienceMs ?? 0)
    const askedAt = performance.now()
    const giveUp = () => {
      stop()
      const waitedMs = Math.round(performance.now() - askedAt)
      if (stream.session !== undefined) void onSilence(stream.session as ClientHttp2Session)
      stream.close(constants.NGHTTP2_CANCEL)
      resume(Effect.fail(unavailable(`The Sandbox's agent did not answer within ${waitedMs} ms`, "lost")))
    }
    const arm = (waitMs: number) => {
      timer = setTimeout(() => {
        const leftMs = patienceMs - (performance.now() - askedAt)
        if (leftMs <= 0 || stream.session === undefined) return giveUp()
        isAnswering(stream.session, Math.min(waitMs, leftMs)).then((answers) => {
          if (isWaiting) answers ? arm(Math.min(waitMs, leftMs)) : giveUp()
        })
      }, waitMs)
    }
    if (timeoutMs !== null) arm(within(timeoutMs))
    stream.on("response", onResponse).on("close", onClose)
    if (stream.destroyed) onClose()
    return Effect.sync(stop)
  })
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

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
