/**
 * Reads the stored output of one operation from given offsets to its end. It is a pull stream, so a slow client
 * blocks no writer and costs nothing.
 */
import { Clock, Effect, FiberSet, Queue, Scope } from "effect"
import { isSettled, operationMachine } from "../../machines/operation.ts"
import { heartbeatSeconds } from "../../schemas/Limits.ts"
import type { Operation } from "../../schemas/Operation.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { Actors } from "../store/Actors.ts"
import { Output } from "../store/Output.ts"
import type { OutputPage, OutputStreamName } from "../store/OutputChunk.ts"
import { type ReadOperation, readView } from "./OperationView.ts"
import { type PullStream, pullStream } from "./pullStream.ts"

/** Interval of the poll for output whose report from another process was lost. */
const askEveryMs = 5000
const streams: ReadonlyArray<OutputStreamName> = ["stdout", "stderr"]
const pieceMaxBytes = 64 * 1024
/** A piece of so many bytes is emitted as it was stored. */
const pieceEnoughBytes = 16 * 1024
const elapsedMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

export interface OutputOffsets {
  readonly stdout: number
  readonly stderr: number
}

export type OutputEvent =
  | {
      readonly type: "output"
      readonly stream: OutputStreamName
      readonly offset: number
      readonly nextOffset: number
      readonly bytes: Uint8Array
      readonly truncated: boolean
      /** The offsets after it. */
      readonly at: OutputOffsets
    }
  /** All of the output was emitted, and no more will come. */
  | { readonly type: "operation"; readonly operation: Operation; readonly at: OutputOffsets }
  /** A heartbeat after a silence. */
  | { readonly type: "quiet"; readonly at: OutputOffsets }

export type OutputReading = PullStream<OutputEvent>

/** Makes the stream; the caller has checked the account. */
export const outputReadings = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const output = yield* Output
  const run = yield* FiberSet.makeRuntime()

  return (operationId: string, from: OutputOffsets): OutputReading => {
    const scope = Scope.makeUnsafe()
    let at = from
    let isOver = false
    /** When the last event or heartbeat was emitted. Monotonic, because the wall clock may be set meanwhile. */
    let toldAt: number | null = null

    let heard: Queue.Queue<void> | null = null
    const changes = Effect.gen(function* () {
      if (heard !== null) return heard
      const queue = yield* Queue.sliding<void>(1)
      heard = queue
      const told = () => void Queue.offerUnsafe(queue, undefined)
      yield* host.onCommit(operationMachine, operationId, told)
      if (!host.owns(operationId)) yield* Effect.forkScoped(host.follow(operationMachine, operationId, 0, told))
      yield* Effect.acquireRelease(
        Effect.sync(() => output.onAppend(operationId, told)),
        (unheard) => Effect.sync(unheard)
      )
      return queue
    }).pipe(Scope.provide(scope))

    const outputEvent = Effect.fnUntraced(function* (stream: OutputStreamName, page: OutputPage) {
      at = { ...at, [stream]: page.nextOffset }
      toldAt = yield* elapsedMs
      const { offset, nextOffset, bytes, truncated } = page
      return { type: "output", stream, offset, nextOffset, bytes, truncated, at } as const
    })

    const next: Effect.Effect<OutputEvent | null> = Effect.gen(function* () {
      if (isOver) return null
      const changed = yield* changes
      // As long as there is more, neither the status nor the end of the streams matters.
      for (const stream of streams) {
        const page = output.newest(operationId, stream, at[stream], pieceMaxBytes, pieceEnoughBytes)
        if (page !== null) return yield* outputEvent(stream, page)
      }
      while (true) {
        // The status is read first: if it was terminal before the read, no output follows.
        const record = (yield* actors.read(operationId)) as ReadOperation | null
        if (record === null) return null
        let isRead = true
        for (const stream of streams) {
          const page = yield* output.read(operationId, stream, at[stream], pieceMaxBytes)
          if (page.nextOffset > at[stream]) return yield* outputEvent(stream, page)
          isRead &&= page.nextOffset >= page.totalBytes
        }
        if (isSettled(record.status, record.context) && isRead) {
          isOver = true
          return { type: "operation", operation: readView(record), at }
        }
        const now = yield* elapsedMs
        toldAt ??= now
        // Wake-ups without output do not delay the heartbeat.
        const leftMs = toldAt + heartbeatSeconds * 1000 - now
        if (leftMs <= 0) {
          toldAt = now
          return { type: "quiet", at }
        }
        yield* Effect.timeoutOption(Queue.take(changed), Math.min(askEveryMs, leftMs))
      }
    })

    return pullStream(next, run, scope)
  }
})
