/** What lies in an actor's mailbox. */
import type { Tracer } from "effect"
import type { IdempotencyKey } from "../store/JournalRecord.ts"
import type { ActorState, AnyEvent } from "./ActorDefinition.ts"
import type { ActorError, KeyContended } from "./ActorError.ts"

export interface Message {
  /** Null: only tidies `done` away. */
  readonly event: AnyEvent | null
  /** Who caused it, in one word: client, command, deadline, runtime, cascade. */
  readonly cause: string
  readonly requestId: string | null
  /** What its sender knows to be committed: an owner that remembers less reads the actor anew. 0: nothing. */
  readonly revision: number
  /** The command whose outcome this is. */
  readonly done: string | null
  /** The deadline that fires, with the instant it was set for. */
  readonly deadline: { readonly name: string; readonly at: number } | null
  /** Taken with the commit that answers this message, also with one that changes nothing else. */
  readonly idempotency: IdempotencyKey | null
  /** Since when it looks for an owner that takes it, in monotonic milliseconds. Null: it lies where it was put first. */
  readonly lookingSince: number | null
  /** Whose part its transition and what that starts are; null: of no trace. */
  readonly span: Tracer.AnySpan | null
  readonly succeed: (state: ActorState) => void
  readonly fail: (error: ActorError | KeyContended) => void
  readonly die: (defect: unknown) => void
  /** It came from another process, which looks for the owner itself. Null: it is from here. */
  readonly moved: (() => void) | null
}

const nothing = () => {}

/** A message whose outcome nobody waits for. */
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
