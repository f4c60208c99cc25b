/** Decodes the frames of one command, and checks their order. */
import { FrameType, type RawFrame } from "../../agent/processes/processFrames.ts"
import { posixSignal } from "../../agent/processes/signals.ts"
import { exitedShape, settledShape } from "../../agent/wire.ts"
import type { ProcessFrame } from "../Guest.ts"
import { heldTo, ProtocolBreach } from "./heldToShape.ts"

const decodeExited = heldTo(exitedShape)
const decodeSettled = heldTo(settledShape)

export interface Offsets {
  readonly stdoutOffset: number
  readonly stderrOffset: number
}

export const FROM_THE_START: Offsets = { stdoutOffset: 0, stderrOffset: 0 }

const breach = (rule: string) => new ProtocolBreach(rule)

/** Checks the order of frames: offsets are contiguous from the requested one or a later one, and no frame follows `settled`. */
export class FrameOrder {
  complete = false
  private exited = false
  private readonly next: { stdout: number; stderr: number }
  private readonly begun = { stdout: false, stderr: false }

  constructor(from: Offsets) {
    this.next = { stdout: from.stdoutOffset, stderr: from.stderrOffset }
  }

  /** Throws a ProtocolBreach for a frame that must not come now. */
  take(frame: ProcessFrame): void {
    if (this.complete) throw breach("nothing must follow settled")
    switch (frame.type) {
      case "output": {
        const { stream, offset } = frame
        if (this.exited) throw breach("output must come before exited")
        // Only the first frame may skip bytes that are no longer kept.
        const follows = this.begun[stream] ? offset === this.next[stream] : offset >= this.next[stream]
        if (!follows) throw breach("offsets must follow each other")
        this.begun[stream] = true
        this.next[stream] = offset + frame.bytes.length
        return
      }
      case "exited": {
        if (this.exited) throw breach("exited must come once")
        this.exited = true
        const counts = (["stdout", "stderr"] as const).every(
          (it) => !this.begun[it] || frame[`${it}Bytes`] >= this.next[it]
        )
        if (!counts) throw breach("the bytes of a stream must be all that came of it")
        return
      }
      case "settled":
        if (!this.exited) throw breach("settled must come after exited")
        this.complete = true
    }
  }
}

/** Throws a ProtocolBreach, or a SyntaxError for invalid JSON. */
export const decodeFrame = (raw: RawFrame): ProcessFrame => {
  switch (raw.type) {
    case FrameType.stdout:
      return { type: "output", stream: "stdout", offset: raw.offset, bytes: raw.payload }
    case FrameType.stderr:
      return { type: "output", stream: "stderr", offset: raw.offset, bytes: raw.payload }
    case FrameType.exited: {
      const { signal: name, ...end } = decodeExited(parse(raw.payload))
      // An agent of an earlier version reports some signals by their second name.
      const signal = name === null ? null : posixSignal(name)
      if ((end.exitCode === null) === (signal === null)) throw breach("exactly one of exitCode and signal must be null")
      return { type: "exited", ...end, outOfMemory: end.outOfMemory ?? false, signal }
    }
    default:
      return { type: "settled", ...decodeSettled(parse(raw.payload)) }
  }
}

const parse = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString("utf8"))
