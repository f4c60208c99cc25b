/**
 * The output of one operation as it is stored, from given offsets on, until there is no more of it: read when it is asked for, so a client that
 * reads slowly holds nothing up and costs nothing.
 */
import { Effect, FiberSet, Option, Queue, Scope } from "effect"
import { operationMachine } from "../../machines/operation.ts"
import { heartbeatSeconds } from "../../schemas/Limits.ts"
import type { Operation } from "../../schemas/Operation.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import { taggedStates } from "../actor/taggedStates.ts"
import { Actors } from "../store/Actors.ts"
import { Output, type OutputStreamName } from "../store/Output.ts"
import { type OperationRecord, operationView } from "./OperationView.ts"
import { type Pulled, pulled } from "./pulled.ts"

/** What another process stores is asked for so often. */
const askEveryMs = 500
const pieceMaxBytes = 64 * 1024
const terminalStates = taggedStates(operationMachine, "terminal")

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
      /** Behind it. */
      readonly at: OutputOffsets
    }
  /** All of the output was told, and there will be no more. */
  | { readonly type: "operation"; readonly operation: Operation; readonly at: OutputOffsets }
  /** Nothing happened for so long. */
  | { readonly type: "quiet"; readonly at: OutputOffsets }

export type OutputReading = Pulled<OutputEvent>

/** Makes the reading of an operation that is known to be the caller's. */
export const outputReadings = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const output = yield* Output
  const run = yield* FiberSet.makeRuntime()

  return (operationId: string, from: OutputOffsets): OutputReading => {
    const scope = Scope.makeUnsafe()
    let at = from
    let isOver = false
    let quietMs = 0

    let heard: Queue.Queue<void> | null = null
    const changes = Effect.gen(function* () {
      if (heard !== null) return heard
      const queue = yield* Queue.sliding<void>(1)
      heard = queue
      const told = () => void Queue.offerUnsafe(queue, undefined)
      yield* host.onCommit(operationId, told)
      yield* Effect.acquireRelease(
        Effect.sync(() => output.onAppend(operationId, told)),
        (unheard) => Effect.sync(unheard)
      )
      return queue
    }).pipe(Scope.provide(scope))

    const next: Effect.Effect<OutputEvent | null> = Effect.gen(function* () {
      if (isOver) return null
      const changed = yield* changes
      while (true) {
        // The status first: what was terminal before the read has no output after it.
        const record = (yield* actors.read(operationId)) as OperationRecord | null
        if (record === null) return null
        const isSettled =
          record.status === "completed" ||
          (terminalStates.includes(record.status) && record.context.processTree !== "running")
        let isRead = true
        for (const stream of ["stdout", "stderr"] as const) {
          const page = yield* output.read(operationId, stream, at[stream], pieceMaxBytes)
          if (page.nextOffset > at[stream]) {
            at = { ...at, [stream]: page.nextOffset }
            quietMs = 0
            const { offset, nextOffset, bytes, truncated } = page
            return { type: "output", stream, offset, nextOffset, bytes, truncated, at }
          }
          isRead &&= page.nextOffset >= page.totalBytes
        }
        if (isSettled && isRead) {
          isOver = true
          return { type: "operation", operation: operationView(record, yield* output.offsets(operationId)), at }
        }
        if (Option.isSome(yield* Effect.timeoutOption(Queue.take(changed), askEveryMs))) continue
        quietMs += askEveryMs
        if (quietMs < heartbeatSeconds * 1000) continue
        quietMs = 0
        return { type: "quiet", at }
      }
    })

    return pulled(next, run, scope)
  }
})
