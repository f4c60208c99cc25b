/**
 * Another HTTP/2 connection to an agent that takes only one: its other end is here, and every stream of it goes over the session that there is.
 *
 * Streams stay what they are: bodies both ways at the pace of who reads them, CONNECT, resets. (An agent's wire has neither trailers nor pushes.) What
 * waits here is a stream's window each way. A head is waited for as long as the agent answers pings: whoever asked pings this relay and not the agent.
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
import type { AgentHead, AgentRequest, AgentSession } from "./AgentSession.ts"

/** As an agent's own (src/agent/server.ts). */
const STREAM_WINDOW_BYTES = 1024 ** 2
const SESSION_WINDOW_BYTES = 4 * 1024 ** 2
const STREAMS_MAX = 4_096

/** The near end of the connection; destroy it to end all that goes through it. */
export const relayAgent = (session: AgentSession): Duplex => {
  const [near, far] = duplexPair()
  // As EagerTransport.ts says: no session may see that its stream is shut down, and none is destroyed but by its stream.
  far.once("end", () => far.destroy())
  const served = performServerHandshake(far, {
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: STREAMS_MAX },
    maxSessionMemory: 64,
    // The only client is a service: a burst of cancelled waits is no attack.
    streamResetBurst: 100_000,
    streamResetRate: 10_000
  })
  served.setLocalWindowSize(SESSION_WINDOW_BYTES)
  served.on("error", () => far.destroy())
  served.on("stream", (asked, headers) => {
    // Whoever writes to it looks at `destroyed`.
    asked.on("error", () => {})
    Effect.runFork(relayStream(session, asked, headers))
  })
  near.on("error", () => {}).once("close", () => far.destroy())
  served.once("close", () => far.destroy())
  far.on("error", () => {}).once("close", () => near.destroy())
  return near
}

/** Ends with the stream that was asked on; the agent's is reset then where it has not ended. */
const relayStream = (session: AgentSession, asked: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
  Effect.gen(function* () {
    const opened = yield* Effect.exit(session.open(requestOf(headers, asked.endAfterHeaders)))
    // Nothing of it was done, and that is what it says.
    if (Exit.isFailure(opened)) return asked.close(constants.NGHTTP2_REFUSED_STREAM)
    const { stream, head } = opened.value
    stream.once("close", () => {
      // It closes by itself once its end has gone out. Closed before that, it has the session say for ever that there is nothing to say yet.
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
          // A head that no agent of ours says.
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
