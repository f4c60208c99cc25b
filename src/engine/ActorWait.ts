/** Waits for an actor to reach a state, whichever process owns it. The owner reports changes; a slow poll of the database covers lost reports. */
import { Effect, Option, Queue } from "effect"
import type { AnyStateMachine } from "xstate"
import { Journal } from "../store/Journal.ts"
import type { ActorState } from "./ActorDefinition.ts"
import { ActorHost } from "./ActorHost.ts"
import type { ContextOf } from "./machineTypes.ts"
import { storedState } from "./storedState.ts"

const askEveryMs = 500

/** The first state for which `isReached` holds, or the latest state after `timeoutMs`. Null: no such actor. */
export const awaitState = Effect.fnUntraced(
  function* <M extends AnyStateMachine>(
    machine: M,
    id: string,
    isReached: (state: ActorState<ContextOf<M>>) => boolean,
    timeoutMs: number
  ) {
    const host = yield* ActorHost
    const journal = yield* Journal
    const changes = yield* Queue.sliding<ActorState<ContextOf<M>>>(1)
    yield* host.onCommit(machine, id, (state) => void Queue.offerUnsafe(changes, state))
    const ask = journal
      .load(id)
      .pipe(
        Effect.map((row): ActorState<ContextOf<M>> | null =>
          row === null || row.kind !== machine.id ? null : (storedState(row) as ActorState<ContextOf<M>>)
        )
      )
    let latest = yield* ask
    if (timeoutMs > 0 && latest !== null && !isReached(latest) && !host.owns(id)) {
      yield* host
        .follow(machine, id, latest.revision, (state) => void Queue.offerUnsafe(changes, state))
        .pipe(Effect.forkScoped)
    }
    const loop = Effect.gen(function* () {
      while (latest !== null && !isReached(latest)) {
        const told = yield* Queue.take(changes).pipe(Effect.timeoutOption(askEveryMs))
        const next = Option.isSome(told) ? told.value : yield* ask
        if (next !== null && next.revision >= latest.revision) latest = next
      }
    })
    if (timeoutMs > 0) yield* Effect.timeoutOption(loop, timeoutMs)
    return latest
  },
  (effect) => Effect.scoped(effect)
)
