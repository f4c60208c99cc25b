import { type ClientHttp2Stream, constants } from "node:http2"
import { Effect } from "effect"
import { SMALL_ANSWER_MAX_BYTES } from "../../agent/wire.ts"
import type { GuestUnavailable } from "../Guest.ts"
import { unavailable } from "./unavailable.ts"

const ANSWER_TIMEOUT_MS = 30_000

/** Time-outs of sessions that differ from the default. */
const answerTimeouts = new WeakMap<object, number>()

export const scaleAnswerTimeout = (session: object, factor: number): void => {
  if (factor !== 1) answerTimeouts.set(session, ANSWER_TIMEOUT_MS * factor)
}

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
    const fail = (message: string, fault: GuestUnavailable["fault"]) => {
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
