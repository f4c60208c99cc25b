/** Pulls byte chunks out of a Node readable, with backpressure and without copies. */
import type { Readable } from "node:stream"
import { Cause, Effect, type Scope } from "effect"
import { GuestUnavailable } from "../Guest.ts"

/** Bytes buffered between the transport and a slow consumer before the transport is paused. */
const BUFFER_MAX_BYTES = 256 * 1024
/** What a piece takes beside its bytes, about: an agent chooses how small they are. */
const PIECE_BYTES = 128

/**
 * One pull returns all chunks that arrived since the last pull, at least one; `Cause.Done` at the end. A readable that closes before its end fails.
 * The caller owns the readable's lifetime (a Scope); this only pauses and resumes it.
 */
export const byteReader = (
  readable: Readable
): Effect.Effect<
  Effect.Effect<[Uint8Array, ...Array<Uint8Array>], GuestUnavailable | Cause.Done>,
  never,
  Scope.Scope
> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new ChunkQueue(readable)),
      (queue) => Effect.sync(() => queue.stop())
    ),
    (queue) =>
      Effect.callback<[Uint8Array, ...Array<Uint8Array>], GuestUnavailable | Cause.Done>((resume) => {
        const settle = () => {
          const chunks = queue.take()
          if (chunks !== null) resume(Effect.succeed(chunks))
          else if (queue.state === "ended") resume(Cause.done())
          else if (queue.state === "broken") {
            resume(
              Effect.fail(new GuestUnavailable({ message: "The Sandbox's agent broke off a stream", fault: "lost" }))
            )
          } else queue.wake = settle
        }
        settle()
        return Effect.sync(() => {
          queue.wake = null
        })
      })
  )

class ChunkQueue {
  state: "open" | "ended" | "broken" = "open"
  wake: (() => void) | null = null
  private chunks: Array<Uint8Array> = []
  private size = 0
  private isNotifying = false
  private readonly readable: Readable

  constructor(readable: Readable) {
    this.readable = readable
    readable.on("data", this.onData).on("end", this.onEnd).on("close", this.onClose)
    if (readable.destroyed) this.finish("broken")
    else if (readable.readableEnded) this.finish("ended")
  }

  take(): [Uint8Array, ...Array<Uint8Array>] | null {
    if (this.chunks.length === 0) return null
    const chunks = this.chunks as [Uint8Array, ...Array<Uint8Array>]
    this.chunks = []
    this.size = 0
    if (this.state === "open" && this.readable.isPaused()) this.readable.resume()
    return chunks
  }

  stop(): void {
    this.readable.off("data", this.onData).off("end", this.onEnd).off("close", this.onClose)
  }

  private readonly onData = (chunk: Uint8Array) => {
    this.chunks.push(chunk)
    this.size += chunk.length + PIECE_BYTES
    if (this.size >= BUFFER_MAX_BYTES) this.readable.pause()
    this.notify()
  }

  private readonly onEnd = () => this.finish("ended")
  private readonly onClose = () => this.finish("broken")

  private finish(state: "ended" | "broken") {
    if (this.state === "open") this.state = state
    this.notify()
  }

  /** Once for all chunks of one read of the transport, which are several DATA frames: each wake-up runs the consumer's whole chain. */
  private notify() {
    if (this.isNotifying) return
    this.isNotifying = true
    queueMicrotask(() => {
      this.isNotifying = false
      const wake = this.wake
      this.wake = null
      wake?.()
    })
  }
}
