/** The last frames of an honest agent's command, from which lies are made. */
import { FrameType, jsonFrame } from "../../../../src/agent/processes/processFrames.ts"

/** Of a command without output. */
export const exited = {
  exitCode: 0,
  signal: null,
  timedOut: false,
  startedAt: 1,
  finishedAt: 2,
  stdoutBytes: 0,
  stderrBytes: 0
}

export const exitedFrame = (changes: object = {}): Buffer => jsonFrame(FrameType.exited, { ...exited, ...changes })
export const settledFrame: Buffer = jsonFrame(FrameType.settled, { processTree: "gone" })
