/**
 * An operation's output, followed by absolute offsets over lost connections: nothing is missing, nothing comes twice.
 */
import { ConnectionError } from "./errors.ts"
import type { Operation, OutputStream } from "./generated/schemas.ts"
import { resumed } from "./http/resumed.ts"
import type { Transport } from "./http/Transport.ts"

export interface OutputChunk {
  readonly stream: OutputStream
  /** Of its first byte, counted from the beginning of that stream. */
  readonly offset: number
  readonly bytes: Uint8Array
  /** Bytes before it are no longer kept by the service: the reader was too slow, or came too late. */
  readonly truncated: boolean
  /**
   * How many bytes are missing: between the end of the stream's piece before, or the start of the reading, and
   * `offset`.
   */
  readonly missingBytes: number
}

export interface OutputFrom {
  /** Absolute byte offset. */
  readonly stdout?: number | undefined
  readonly stderr?: number | undefined
}

export const bytesOf = (base64: string): Uint8Array => {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}

/** Returns the ended operation, once all of its output has been yielded. */
export async function* followOutput(
  transport: Transport,
  sandboxId: string,
  operationId: string,
  from: OutputFrom,
  signal?: AbortSignal
): AsyncGenerator<OutputChunk, Operation, undefined> {
  const at = { stdout: from.stdout ?? 0, stderr: from.stderr ?? 0 }
  const events = resumed(
    (signal) =>
      transport.open("streamOperationOutput", {
        parameters: { id: sandboxId, operationId, stdoutOffset: at.stdout, stderrOffset: at.stderr },
        signal
      }),
    signal
  )
  for await (const { event, data } of events) {
    if (event === "output") {
      const {
        stream,
        offset,
        nextOffset,
        data: base64,
        truncated
      } = JSON.parse(data) as {
        readonly stream: OutputStream
        readonly offset: number
        readonly nextOffset: number
        readonly data: string
        readonly truncated: boolean
      }
      const missingBytes = Math.max(0, offset - at[stream])
      at[stream] = nextOffset
      yield { stream, offset, bytes: bytesOf(base64), truncated, missingBytes }
    } else if (event === "operation") return (JSON.parse(data) as { readonly operation: Operation }).operation
  }
  throw new ConnectionError("The output ended without its operation.", "unknown", null)
}
