/** A message in an actor's mailbox. */
import type { Tracer } from "effect"
import type { IdempotencyKey } from "../store/JournalRecord.ts"
import type { ActorState, AnyEvent } from "./ActorDefinition.ts"
import type { ActorError, KeyContended } from "./ActorError.ts"

export interface Message {
  /** Null: only removes `done` from the pending commands. */
  readonly event: AnyEvent | null
  /** Its origin in one word: client, command, deadline, runtime, cascade. */
  readonly cause: string
  readonly requestId: string | null
  /** The newest revision that the sender knows: an owner with an older one reloads the actor. 0: unknown. */
  readonly revision: number
  /** The command whose result this message is. */
  readonly done: string | null
  /** The deadline that fires, with its time. */
  readonly deadline: { readonly name: string; readonly at: number } | null
  /** The key that the message's commit stores, even if nothing else changes. */
  readonly idempotency: IdempotencyKey | null
  /** Since when the message has been looking for an owner, in monotonic milliseconds. Null: it is where it was first put. */
  readonly lookingSince: number | null
  /** Set by the mailbox that takes it, in monotonic milliseconds. */
  arrivedAt?: number
  /** The parent span of its transition and commands; null: no trace. */
  readonly span: Tracer.AnySpan | null
  readonly succeed: (state: ActorState) => void
  readonly fail: (error: ActorError | KeyContended) => void
  readonly die: (defect: unknown) => void
  /** For a message from another process, which then looks for the owner itself. Null: the message is from this process. */
  readonly moved: (() => void) | null
}

const nothing = () => {}

/** A message without a caller that waits for its outcome. */
export const unawaited = (
  event: AnyEvent | null,
  cause: string,
  about: Partial<Pick<Message, "revision" | "done" | "deadline" | "span" | "succeed">> = {}
): Message => ({
  event,
  cause,
  requestId: null,
  revision: 0,
  done: null,
  deadline: null,
  idempotency: null,
  lookingSince: null,
  span: null,
  succeed: nothing,
  fail: nothing,
  die: nothing,
  moved: null,
  ...about
})
