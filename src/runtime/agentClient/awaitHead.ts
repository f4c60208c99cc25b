/** Waits for the head of an answer: at most its time-out, and longer only while a slow agent answers pings. */
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2"
import { Effect } from "effect"
import type { GuestUnavailable } from "../Guest.ts"
import type { AgentHead, AgentRequest } from "./AgentRequest.ts"
import { isAnswering } from "./isAnswering.ts"
import { unavailable } from "./unavailable.ts"

const HEAD_TIMEOUT_MS = 10_000

/** Keeps the head of a stream that emitted it before a listener was attached. */
const heads = new WeakMap<ClientHttp2Stream, AgentHead>()

export const awaitHead = (
  stream: ClientHttp2Stream,
  request: AgentRequest,
  within: (ms: number) => number,
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
