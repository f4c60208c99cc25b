/**
 * One HTTP/2 session with the agent of one Sandbox, over the duplex stream that the driver opens.
 *
 * The first request opens the session, and a request after a break opens it again. Without open streams it closes after `idleMs`. The agent is
 * untrusted: heads are timed, control answers are timed and sized, every fault is a `GuestUnavailable`, and a breach of the protocol ends the session
 * with all its streams (`held`).
 *
 * @source design.md "The runtime"
 */
import { type ClientHttp2Stream, constants } from "node:http2"
import { Effect, type Scope, Stream } from "effect"
import { GuestUnavailable } from "../Guest.ts"
import { AgentConnection, type AgentSessionOptions } from "./AgentConnection.ts"
import type { AgentHead, AgentRequest } from "./AgentRequest.ts"
import { awaitHead } from "./awaitHead.ts"
import { type PlainTunnels, plainTunnels } from "./plainTunnels.ts"
import { readAnswer } from "./readAnswer.ts"
import { withGatheredReads } from "./smallReads.ts"
import { unavailable } from "./unavailable.ts"

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
  /** Null: tunnelled connections travel in the session. */
  readonly tunnels: PlainTunnels | null
  /** Ends the session and everything on it, and the tunnels; a later request opens a new one. */
  readonly close: () => void
}

const openStream = async (
  connection: AgentConnection,
  request: AgentRequest,
  signal: AbortSignal
): Promise<ClientHttp2Stream> => {
  connection.streamWanted()
  let stream: ClientHttp2Stream
  try {
    const on = await connection.session()
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
    connection.streamClosed()
    throw cause
  }
  connection.streamOpened()
  stream.once("close", () => connection.streamClosed())
  // Every reader listens for `close`; an error without a listener would end the process.
  stream.on("error", () => {})
  if (request.body instanceof Uint8Array) stream.end(request.body)
  return stream
}

export const makeAgentSession = (options: AgentSessionOptions): AgentSession => {
  const connection = new AgentConnection(options)
  const within = (ms: number) => connection.within(ms)
  const tunnels = options.connectPlain === undefined ? null : plainTunnels(options.connectPlain, within)
  const close = () => {
    connection.close()
    tunnels?.close()
  }

  const open = (request: AgentRequest): Effect.Effect<AgentExchange, GuestUnavailable, Scope.Scope> =>
    Effect.map(
      Effect.acquireRelease(
        Effect.tryPromise({
          try: (signal) => openStream(connection, request, signal),
          catch: (cause) => unavailable(`The Sandbox's agent cannot be reached: ${reason(cause)}`, "unreached")
        }),
        (stream) => Effect.sync(() => void (stream.destroyed || stream.close(constants.NGHTTP2_CANCEL))),
        { interruptible: true }
      ),
      (stream) => ({ stream, head: awaitHead(stream, request, within, (silent) => connection.endIfSilent(silent)) })
    )

  const request = (it: AgentRequest) =>
    Effect.flatMap(open(it), ({ stream, head }) => Effect.map(head, (answer) => ({ ...answer, stream })))

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
      await connection.session()
      connection.closeWhenIdle()
    },
    tunnels,
    close
  }
}

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
