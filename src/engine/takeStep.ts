/** The change that a message makes to an actor, and its record. */
import type { ActorCommit, IdempotencyKey, PendingCommand } from "../store/JournalRecord.ts"
import type { AnyEvent } from "./ActorDefinition.ts"
import { EventRefused } from "./ActorError.ts"
import { withCommands } from "./CommandRunner.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"
import { decide, earliest, stamp, store, type Verdict } from "./Transition.ts"

export interface Change {
  readonly pending: ReadonlyArray<PendingCommand>
  readonly deadlines: LiveActor["deadlines"]
  /** Null: only removes commands or deadlines, or stores a key. */
  readonly transition: {
    readonly snapshot: LiveActor["snapshot"]
    readonly record: NonNullable<ActorCommit["transition"]>
  } | null
}

type Accepted = Extract<Verdict, { type: "accepted" }>
type Declined = Exclude<Verdict, { type: "accepted" }>

/** The machine's decision about a message. */
export type Step =
  | { readonly verdict: Accepted; readonly change: Change }
  /** `decline` records the event as rejected; without an event it does nothing. */
  | { readonly verdict: Declined; readonly decline: () => void; readonly refusal: () => EventRefused }

/**
 * Decides a message. The owner's mailbox and a fenced takeover write share this step. Throws what the machine throws.
 *
 * `pending`, `deadlines`: those of the actor, without the command or deadline that the message settles. `now`: epoch milliseconds.
 */
export const takeStep = (
  actor: LiveActor,
  message: Message,
  pending: ReadonlyArray<PendingCommand>,
  deadlines: LiveActor["deadlines"],
  now: number
): Step => {
  const at = actor.instantAt(now)
  const event = message.event === null ? null : stamp(message.event, at)
  const verdict: Verdict =
    event === null
      ? { type: "unchanged" }
      : decide(actor.definition.machine, actor.snapshot, event, actor.revision + 1, deadlines)
  return verdict.type === "accepted"
    ? { verdict, change: transitionOf(actor, pending, event!, verdict, message, at) }
    : {
        verdict,
        decline: () => {
          if (event !== null) tellDeclined(actor, event, verdict, message, at)
        },
        refusal: () => refusalOf(actor, event!, verdict)
      }
}

/** `pending`: the commands before those of this transition. `at`: its timestamp, epoch milliseconds. */
const transitionOf = (
  actor: LiveActor,
  pending: ReadonlyArray<PendingCommand>,
  event: AnyEvent,
  verdict: Accepted,
  { cause, requestId }: Message,
  at: number
): Change => {
  const all = withCommands(actor, pending, verdict.commands)
  return {
    pending: all,
    deadlines: verdict.deadlines,
    transition: {
      snapshot: verdict.snapshot,
      record: {
        at,
        event,
        from: actor.snapshot.value as string,
        to: verdict.snapshot.value as string,
        commands: verdict.commands,
        // The transition's own commands are the last.
        stillPending: all.slice(0, all.length - verdict.commands.length),
        cause,
        requestId
      }
    }
  }
}

/** Without the commands of the transition that may be lost. For the process that runs them. */
export const withoutBestEffort = (
  actor: LiveActor,
  change: Change,
  commands: ReadonlyArray<PendingCommand>
): Change => {
  const context = change.transition?.snapshot.context
  const lost = commands.filter(({ type }) => actor.definition.commands[type]?.isBestEffort?.(context) === true)
  return lost.length === 0 ? change : { ...change, pending: change.pending.filter((it) => !lost.includes(it)) }
}

/** In the journal's form; unchanged parts are left out. */
export const commitOf = (actor: LiveActor, change: Change, idempotency: IdempotencyKey | null): ActorCommit => ({
  actorId: actor.id,
  kind: actor.definition.kind,
  accountId: actor.accountId,
  revision: change.transition === null ? actor.revision : actor.revision + 1,
  snapshot: store(change.transition?.snapshot ?? actor.snapshot),
  machineVersion: actor.storedVersion === actor.definition.version ? null : actor.definition.version,
  replaces: actor.stored,
  pending: change.pending === actor.pending ? null : change.pending,
  deadlines: change.deadlines === actor.deadlines ? null : change.deadlines,
  dueAt: earliest(change.deadlines),
  transition: change.transition?.record ?? null,
  idempotency
})

/** Records that an event was answered without a transition. */
const tellDeclined = (
  actor: LiveActor,
  event: AnyEvent,
  verdict: Declined,
  { cause, requestId }: Message,
  at: number
): void =>
  actor.definition.declined?.({
    actorId: actor.id,
    revision: actor.revision,
    state: actor.snapshot.value as string,
    at,
    event,
    code: verdict.type === "refused" ? verdict.code : null,
    cause,
    requestId
  })

const refusalOf = (actor: LiveActor, event: AnyEvent, verdict: Declined): EventRefused =>
  new EventRefused({
    actorId: actor.id,
    event: event.type,
    state: actor.snapshot.value as string,
    code: verdict.type === "refused" ? verdict.code : ""
  })
