/** Sends events to actors, whichever process owns them, and answers with the committed state. */
import { Effect, type Tracer } from "effect"
import type { AnyStateMachine } from "xstate"
import { spanOf } from "../platform/trace/Tracing.ts"
import { changeBegins } from "../store/Change.ts"
import type { DatabaseWatch } from "../store/DatabaseWatch.ts"
import type { IdempotencyKey } from "../store/JournalRecord.ts"
import type { ActorDefinition, ActorState, AnyEvent } from "./ActorDefinition.ts"
import type { ActorError, KeyContended } from "./ActorError.ts"
import { unawaited } from "./Message.ts"
import { type TakeOver, takeOverWrite } from "./takeOverWrite.ts"

export interface Delivery {
  readonly cause: string
  readonly requestId?: string | null
  /** The revision that the sender has read: the owner decides on no older state. */
  readonly revision?: number
}

interface Sender extends TakeOver {
  readonly watch: DatabaseWatch["Service"]
  readonly isTraced: boolean
  readonly definitionOf: (kind: string) => ActorDefinition
}

/** Only a client's message counts as a client's change. The service sends its own messages anyway, or again. */
export const begins = ({ cause }: Pick<Delivery, "cause">): Effect.Effect<void> =>
  cause === "client" ? changeBegins : Effect.void

export const actorSending = (sender: Sender) => {
  const { watch, isTraced, definitionOf, actors } = sender

  /** Passes the span of the calling fiber on. */
  const asking = <A, E>(ask: (span: Tracer.AnySpan | null) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    isTraced ? Effect.withFiber((fiber) => ask(spanOf(fiber))) : ask(null)

  const deliver = (
    machine: AnyStateMachine,
    id: string,
    event: AnyEvent,
    delivery: Delivery,
    idempotency: IdempotencyKey | null,
    span: Tracer.AnySpan | null
  ) =>
    watch.patiently<ActorState, ActorError | KeyContended>((resume) => {
      actors.deliver(definitionOf(machine.id), id, {
        event,
        cause: delivery.cause,
        requestId: delivery.requestId ?? null,
        revision: delivery.revision ?? 0,
        done: null,
        deadline: null,
        idempotency,
        lookingSince: null,
        span,
        succeed: (state) => resume(Effect.succeed(state)),
        fail: (error) => resume(Effect.fail(error)),
        die: (defect) => resume(Effect.die(defect)),
        moved: null
      })
    })

  const sendOnce = (
    machine: AnyStateMachine,
    id: string,
    event: AnyEvent,
    delivery: Delivery,
    idempotency: IdempotencyKey | null
  ) =>
    Effect.andThen(
      begins(delivery),
      asking((span) => deliver(machine, id, event, delivery, idempotency, span))
    )

  /** Without a key, KeyContended cannot occur. */
  const send = (machine: AnyStateMachine, id: string, event: AnyEvent, delivery: Delivery) =>
    sendOnce(machine, id, event, delivery, null) as Effect.Effect<ActorState, ActorError>

  const sendTakingOver = Effect.fnUntraced(function* (
    machine: AnyStateMachine,
    id: string,
    event: AnyEvent,
    delivery: Delivery
  ) {
    const definition = definitionOf(machine.id)
    yield* begins(delivery)
    if (!actors.isOurs(id)) {
      const span = yield* asking(Effect.succeed)
      const { cause, requestId = null, revision = 0 } = delivery
      const message = { ...unawaited(event, cause, { revision, span }), requestId }
      const state = yield* takeOverWrite(sender, definition, id, message)
      if (state !== null) return state
    }
    return yield* send(machine, id, event, delivery)
  })

  return { asking, send, sendOnce, sendTakingOver }
}
