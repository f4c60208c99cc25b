/**
 * An additional HTTP/2 connection to an agent that accepts only one. This relay serves it, and forwards every stream over the existing session.
 *
 * Streams keep their semantics: bodies in both directions with backpressure, CONNECT, resets. (The agent's protocol has neither trailers nor pushes.)
 * The relay buffers one stream window in each direction. It waits for a head as long as the agent answers pings, because the caller's pings reach
 * this relay and not the agent.
 */
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream
} from "node:http2"
import { type Duplex, duplexPair } from "node:stream"
import { Effect, Exit } from "effect"
import type { GuestUnavailable } from "../Guest.ts"
import type { AgentHead, AgentRequest } from "./AgentRequest.ts"
import type { AgentSession } from "./AgentSession.ts"

/** The same as the agent's own (src/agent/server.ts). */
const STREAM_WINDOW_BYTES = 1024 ** 2
const SESSION_WINDOW_BYTES = 4 * 1024 ** 2
const STREAMS_MAX = 4_096

/** The caller's end of the connection; destroying it ends all its streams. */
export const relayAgent = (session: AgentSession): Duplex => {
  const [near, far] = duplexPair()
  // See EagerTransport.ts: no session may see that its stream is shut down, and none is destroyed but by its stream.
  far.once("end", () => far.destroy())
  const served = performServerHandshake(far, {
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: STREAMS_MAX },
    maxSessionMemory: 64,
    // The only client is a service, so a burst of cancelled waits is no attack.
    streamResetBurst: 100_000,
    streamResetRate: 10_000
  })
  served.setLocalWindowSize(SESSION_WINDOW_BYTES)
  served.on("error", () => far.destroy())
  served.on("stream", (asked, headers) => {
    // Writers check `destroyed`.
    asked.on("error", () => {})
    Effect.runFork(relayStream(session, asked, headers))
  })
  near.on("error", () => {}).once("close", () => far.destroy())
  served.once("close", () => far.destroy())
  far.on("error", () => {}).once("close", () => near.destroy())
  return near
}

/** Ends with the caller's stream; the agent's stream is then reset if it has not ended. */
const relayStream = (session: AgentSession, asked: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
  Effect.gen(function* () {
    const opened = yield* Effect.exit(session.open(requestOf(headers, asked.endAfterHeaders)))
    // REFUSED_STREAM means that nothing was done.
    if (Exit.isFailure(opened)) return asked.close(constants.NGHTTP2_REFUSED_STREAM)
    const { stream, head } = opened.value
    stream.once("close", () => {
      // A complete stream closes by itself after its end was sent. If it were closed earlier, the session would repeat for ever that it has nothing
      // to send yet.
      const isWhole = asked.readableEnded && asked.writableEnded
      if (!isWhole || stream.rstCode !== constants.NGHTTP2_NO_ERROR) asked.close(stream.rstCode)
    })
    if (!asked.endAfterHeaders) asked.pipe(stream)
    yield* Effect.raceFirst(Effect.andThen(answer(asked, stream, head), Effect.never), closeOf(asked))
    if (asked.rstCode !== constants.NGHTTP2_NO_ERROR) stream.close(asked.rstCode)
  }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => asked.destroyed || asked.close())))

const requestOf = (headers: IncomingHttpHeaders, isWhole: boolean): AgentRequest => {
  const {
    ":method": method = "GET",
    ":path": path = null,
    ":scheme": _scheme,
    ":authority": authority,
    ...rest
  } = headers
  return {
    method,
    path,
    headers: method === "CONNECT" ? { ...rest, ":authority": authority } : rest,
    ...(isWhole ? {} : { body: "open" }),
    patienceMs: Number.POSITIVE_INFINITY
  }
}

const answer = (
  asked: ServerHttp2Stream,
  stream: ClientHttp2Stream,
  head: Effect.Effect<AgentHead, GuestUnavailable>
) =>
  Effect.matchEffect(head, {
    onFailure: () => Effect.sync(() => asked.close(constants.NGHTTP2_CANCEL)),
    onSuccess: ({ headers }) =>
      Effect.sync(() => {
        if (asked.destroyed || asked.closed) return
        try {
          asked.respond(headers)
          stream.pipe(asked)
        } catch {
          // A head that no genuine agent sends.
          asked.close(constants.NGHTTP2_PROTOCOL_ERROR)
        }
      })
  })

const closeOf = (stream: ServerHttp2Stream) =>
  Effect.callback<void>((resume) => {
    if (stream.destroyed) return resume(Effect.void)
    const closed = () => resume(Effect.void)
    stream.once("close", closed)
    return Effect.sync(() => void stream.off("close", closed))
  })
