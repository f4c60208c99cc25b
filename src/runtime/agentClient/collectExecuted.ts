/** Collects what an execute answers: the first bytes of its output, and its end. */
import type { Readable } from "node:stream"
import { Effect } from "effect"
import { FrameDecoder } from "../../agent/processes/processFrames.ts"
import { type Executed, GuestUnavailable, type ProcessFrame } from "../Guest.ts"
import { brokenOff, protocolFault } from "./answers.ts"
import { ProtocolBreach } from "./heldToShape.ts"
import { decodeFrame, FROM_THE_START, FrameOrder } from "./processFrameOrder.ts"

/** The first bytes of one stream, in one buffer, for pieces of any size. */
class Head {
  #bytes: Buffer = Buffer.alloc(0)
  #used = 0
  readonly #maxBytes: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** False when there are more bytes than requested. */
  take(bytes: Uint8Array): boolean {
    const used = this.#used + bytes.length
    if (used > this.#maxBytes) return false
    if (used > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(used, 2 * this.#bytes.length)))
      grown.set(this.bytes)
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#used)
    this.#used = used
    return true
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#used)
  }
}

/** Collects all frames of a command: its first bytes and its end. More bytes than requested break the protocol. */
export const collectExecuted = (
  readable: Readable,
  headBytes: number,
  timeoutMs: number
): Effect.Effect<Executed, GuestUnavailable> =>
  Effect.callback((resume) => {
    const decoder = new FrameDecoder()
    const order = new FrameOrder(FROM_THE_START)
    const heads = { stdout: new Head(headBytes), stderr: new Head(headBytes) }
    let exited: Extract<ProcessFrame, { readonly type: "exited" }> | null = null
    const stop = () => {
      clearTimeout(timer)
      readable.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    const fail = (fault: GuestUnavailable) => {
      stop()
      resume(Effect.fail(fault))
    }
    const onData = (chunk: Uint8Array) => {
      try {
        for (const raw of decoder.push(chunk)) {
          const frame = decodeFrame(raw)
          order.take(frame)
          if (frame.type === "exited") exited = frame
          else if (frame.type === "output" && !heads[frame.stream].take(frame.bytes)) {
            throw new ProtocolBreach("the first bytes must be no more than were asked for")
          }
        }
      } catch (cause) {
        fail(protocolFault(cause))
      }
    }
    const onEnd = () => {
      if (exited === null || !order.complete || !decoder.atBoundary) return fail(brokenOff())
      stop()
      const { type: _type, ...end } = exited
      resume(Effect.succeed({ ...end, stdout: heads.stdout.bytes, stderr: heads.stderr.bytes }))
    }
    const onClose = () => fail(brokenOff())
    const onLate = () =>
      fail(new GuestUnavailable({ message: "The Sandbox's agent did not end a command in time", fault: "lost" }))
    const timer = Number.isFinite(timeoutMs) ? setTimeout(onLate, timeoutMs) : undefined
    readable.on("data", onData).on("end", onEnd).on("close", onClose)
    if (readable.destroyed) onClose()
    return Effect.sync(stop)
  })
