/** Writes to a command's open input, at the agent's pace. */
import type { Writable } from "node:stream"
import { Effect } from "effect"
import { FRAME_PAYLOAD_MAX_BYTES, FrameType, frameHead } from "../../agent/processes/processFrames.ts"
import { GuestUnavailable } from "../Guest.ts"

/** Resolves when the stream has room again. */
export const writeInput = (stream: Writable, bytes: Uint8Array): Effect.Effect<void, GuestUnavailable> =>
  Effect.callback((resume) => {
    const closed = () =>
      resume(Effect.fail(new GuestUnavailable({ message: "The command's connection is closed.", fault: "lost" })))
    if (!stream.writable) return closed()
    let hasRoom = true
    for (let at = 0; at < bytes.length; at += FRAME_PAYLOAD_MAX_BYTES) {
      const part = bytes.subarray(at, at + FRAME_PAYLOAD_MAX_BYTES)
      stream.cork()
      stream.write(frameHead(FrameType.stdout, 0, part.length))
      hasRoom = stream.write(part)
      stream.uncork()
    }
    if (hasRoom) return resume(Effect.void)
    const drained = () => {
      stream.off("close", closed)
      resume(Effect.void)
    }
    stream.once("drain", drained).once("close", closed)
    return Effect.sync(() => void stream.off("drain", drained).off("close", closed))
  })

/** Waits for room, or for the stream's end. */
export const roomIn = (stream: Writable, hasRoom: boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (hasRoom || stream.destroyed) return resume(Effect.void)
    const done = () => {
      stream.off("drain", done).off("close", done)
      resume(Effect.void)
    }
    stream.once("drain", done).once("close", done)
    return Effect.sync(() => void stream.off("drain", done).off("close", done))
  })
