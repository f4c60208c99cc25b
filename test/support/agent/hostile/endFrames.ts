/** How a command ends whose agent tells the truth, which lies are made from. */
import { FrameType, jsonFrame } from "../../../../src/agent/processes/processFrames.ts"

/** Of one that wrote nothing. */
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
