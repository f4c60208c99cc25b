/** Sends one command's frames to one attached reader, at the reader's pace. */
import type { ServerHttp2Stream } from "node:http2"
import type { CommandProcess } from "./CommandProcess.ts"
import type { OutputBuffer } from "./OutputBuffer.ts"
import { FrameType, frameHead, jsonFrame } from "./processFrames.ts"

/**
 * Answers 200 and writes frames from the given offsets until `settled` was sent or the reader disconnects. `acknowledges`: this is the only reader,
 * and sent bytes are not kept.
 */
export const writeFrames = (
  stream: ServerHttp2Stream,
  command: CommandProcess,
  from: { readonly stdoutOffset: number; readonly stderrOffset: number },
  acknowledges = false
): void => {
  if (stream.destroyed || stream.closed) return
  let stdoutOffset = from.stdoutOffset
  let stderrOffset = from.stderrOffset
  let exitSent = false
  let blocked = false

  /** Returns the offset after the sent bytes. */
  const send = (type: 1 | 2, buffer: OutputBuffer, wanted: number): number => {
    let offset = Math.max(wanted, buffer.base)
    while (!blocked && offset < buffer.readableEnd) {
      const bytes = buffer.read(offset)
      if (bytes.length === 0) break
      stream.cork()
      stream.write(frameHead(type, offset, bytes.length))
      blocked = !stream.write(bytes)
      stream.uncork()
      offset += bytes.length
    }
    return offset
  }

  const pump = () => {
    if (blocked || stream.destroyed || stream.closed) return
    // Pipes do not keep the order between the two streams. Small stderr goes first so that it is not starved.
    stderrOffset = send(FrameType.stderr, command.stderr, stderrOffset)
    stdoutOffset = send(FrameType.stdout, command.stdout, stdoutOffset)
    if (acknowledges) command.acknowledge({ stdoutOffset, stderrOffset })
    if (blocked || command.exit === null) return
    // Both last frames go out in one write.
    const last = exitSent ? [] : [jsonFrame(FrameType.exited, command.exit)]
    exitSent = true
    if (command.settled === null) {
      for (const frame of last) stream.write(frame)
      return
    }
    command.listeners.delete(pump)
    stream.end(Buffer.concat([...last, jsonFrame(FrameType.settled, { processTree: command.settled })]))
  }

  stream.respond({ ":status": 200, "content-type": "application/octet-stream" })
  stream.on("drain", () => {
    blocked = false
    pump()
  })
  stream.on("close", () => command.listeners.delete(pump))
  command.listeners.add(pump)
  pump()
}
