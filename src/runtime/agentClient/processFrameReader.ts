/** Reads the frames of one command as they arrive. */
import { Cause, Effect } from "effect"
import { FrameDecoder } from "../../agent/processes/processFrames.ts"
import type { GuestUnavailable, ProcessFrame } from "../Guest.ts"
import { brokenOff, protocolFault } from "./answers.ts"
import { decodeFrame, FrameOrder, type Offsets } from "./processFrameOrder.ts"

type Bytes = Effect.Effect<[Uint8Array, ...Array<Uint8Array>], GuestUnavailable | Cause.Done>

/** Turns bytes into frames; the stream is complete only if its last frame was `settled`. */
export const processFrameReader = (
  bytes: Bytes,
  from: Offsets
): Effect.Effect<[ProcessFrame, ...Array<ProcessFrame>], GuestUnavailable | Cause.Done> => {
  const decoder = new FrameDecoder()
  const order = new FrameOrder(from)
  const pull: ReturnType<typeof processFrameReader> = bytes.pipe(
    Effect.catchIf(Cause.isDone, (done) => Effect.fail(order.complete && decoder.atBoundary ? done : brokenOff())),
    Effect.flatMap((chunks) => {
      const decoded: Array<ProcessFrame> = []
      try {
        for (const chunk of chunks) {
          for (const raw of decoder.push(chunk)) {
            const frame = decodeFrame(raw)
            order.take(frame)
            decoded.push(frame)
          }
        }
      } catch (cause) {
        return Effect.fail(protocolFault(cause))
      }
      const [first, ...rest] = decoded
      return first === undefined ? pull : Effect.succeed<[ProcessFrame, ...Array<ProcessFrame>]>([first, ...rest])
    })
  )
  return pull
}
