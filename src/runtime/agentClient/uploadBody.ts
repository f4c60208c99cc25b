import type { ClientHttp2Stream } from "node:http2"
import { Effect } from "effect"
import type { FileUpload } from "../Guest.ts"

/** 4 bytes of length before each piece; length 0 ends the content. */
const frameHeader = (bytes: number): Uint8Array => {
  const header = Buffer.allocUnsafe(4)
  header.writeUInt32BE(bytes)
  return header
}

/** Bytes of an upload in flight to the agent before more of the body is read. */
const UPLOAD_AHEAD_BYTES = 512 * 1024

/** Sends the body at the agent's pace. If the agent closes the stream meanwhile, its answer decides, so this then waits. */
export const uploadBody = <E>(stream: ClientHttp2Stream, { bytes, broken }: FileUpload<E>): Effect.Effect<void, E> =>
  Effect.callback<void, E>((resume) => {
    const stop = () => {
      bytes.off("data", send).off("end", end).off("close", breakOff).off("error", breakOff)
      bytes.pause()
    }
    const send = (chunk: Uint8Array) => {
      if (chunk.byteLength === 0 || stream.destroyed || stream.writableEnded) return
      stream.cork()
      stream.write(frameHeader(chunk.byteLength))
      stream.write(chunk, sent)
      stream.uncork()
      if (stream.writableLength >= UPLOAD_AHEAD_BYTES) bytes.pause()
    }
    const sent = (failure?: Error | null) => {
      if (!failure && bytes.isPaused() && stream.writableLength < UPLOAD_AHEAD_BYTES) bytes.resume()
    }
    const end = () => {
      stop()
      if (stream.destroyed || stream.writableEnded) return
      stream.end(frameHeader(0))
      resume(Effect.void)
    }
    const breakOff = () => {
      stop()
      resume(Effect.fail(broken()))
    }
    if (bytes.destroyed && !bytes.readableEnded) return breakOff()
    bytes.on("end", end).on("close", breakOff).on("error", breakOff).on("data", send)
    return Effect.sync(stop)
  })
