/** Wait: answers at the first of an end, a changed status, new output, the time-out, and the service's stop. It cancels nothing. */
import { Clock, Effect, Queue } from "effect"
import { operationMachine } from "../../machines/operation.ts"
import { millisecondsOf } from "../../schemas/Seconds.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { taggedStates } from "../engine/taggedStates.ts"
import { Shutdown } from "../platform/shutdown/Shutdown.ts"
import { Output } from "../store/Output.ts"
import type { Operations } from "./Operations.ts"
import { readView } from "./OperationView.ts"
import { ownOperations } from "./ownOperations.ts"

const askEveryMs = 500
const terminalStates = taggedStates(operationMachine, "terminal")

export const waitForOperation = Effect.gen(function* () {
  const host = yield* ActorHost
  const output = yield* Output
  const shutdown = yield* Shutdown
  const { find } = yield* ownOperations

  const wait: Operations["Service"]["wait"] = Effect.fn("Operations.wait")(
    function* (accountId, sandboxId, operationId, request) {
      // It listens before it reads, so the first read misses no change, and needs no second one.
      const changes = yield* Queue.sliding<void>(1)
      const told = () => void Queue.offerUnsafe(changes, undefined)
      yield* host.onCommit(operationMachine, operationId, told)
      yield* Effect.acquireRelease(
        Effect.sync(() => shutdown.onBegin(told)),
        (unheard) => Effect.sync(unheard)
      )
      if (request.stdoutOffset !== null || request.stderrOffset !== null) {
        yield* Effect.acquireRelease(
          Effect.sync(() => output.onAppend(operationId, told)),
          (stop) => Effect.sync(stop)
        )
      }
      const first = yield* find(accountId, sandboxId, operationId)
      if (!host.owns(operationId))
        yield* Effect.forkScoped(host.follow(operationMachine, operationId, first.revision, told))
      // Monotonic, because the wall clock may be set meanwhile.
      const elapsedMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))
      const end = (yield* elapsedMs) + millisecondsOf(request.timeoutSeconds)
      let record = first
      while (true) {
        const operation = readView(record)
        const left = end - (yield* elapsedMs)
        const isOver =
          left <= 0 ||
          shutdown.hasBegun() ||
          terminalStates.includes(operation.status) ||
          operation.status !== first.status ||
          (request.stdoutOffset !== null && operation.output.stdoutBytes > request.stdoutOffset) ||
          (request.stderrOffset !== null && operation.output.stderrBytes > request.stderrOffset)
        if (isOver) return operation
        yield* Effect.timeoutOption(Queue.take(changes), Math.min(askEveryMs, left))
        record = yield* find(accountId, sandboxId, operationId)
      }
    },
    (effect) => Effect.scoped(effect)
  )
  return wait
})
