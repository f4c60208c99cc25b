import { Schema } from "effect"

/** The state does not accept the event. `code` is the machine's own typed reason; nothing was committed. */
export class EventRefused extends Schema.TaggedError<EventRefused>()("EventRefused", {
  actorId: Schema.String,
  event: Schema.String,
  state: Schema.String,
  code: Schema.String
}) {}

/** There is no actor with this id. */
export class ActorNotFound extends Schema.TaggedError<ActorNotFound>()("ActorNotFound", { actorId: Schema.String }) {}

/** The actor's mailbox is full. */
export class MailboxFull extends Schema.TaggedError<MailboxFull>()("MailboxFull", { actorId: Schema.String }) {}

/** Nothing was committed: another owner committed first, or another call took the message's key. The sender checks the key. */
export class KeyContended extends Schema.TaggedError<KeyContended>()("KeyContended", { actorId: Schema.String }) {}

export type ActorError = EventRefused | ActorNotFound | MailboxFull

/** Between processes: the asked process does not own the actor (any more). The sender looks for the owner again. */
export class ActorMoved extends Schema.TaggedError<ActorMoved>()("ActorMoved", { actorId: Schema.String }) {}

/** Between processes: the owner met a defect. It would meet it again, unless `passes` is true. Older versions do not send `passes`. */
export class ActorFailed extends Schema.TaggedError<ActorFailed>()("ActorFailed", {
  message: Schema.String,
  passes: Schema.optional(Schema.Boolean)
}) {}

/**
 * A defect: for longer than a caller should wait, no process of the cluster owned the actor, or its owner could not use the database. A retry
 * soon helps.
 */
export class OwnerAway extends Schema.TaggedError<OwnerAway>()("OwnerAway", { actorId: Schema.String }) {}

/** A defect: the database permanently rejects the machine's decision. Nothing was committed. */
export class TransitionRefused extends Schema.TaggedError<TransitionRefused>()("TransitionRefused", {
  actorId: Schema.String
}) {}

/** A defect: the stored state is of a newer version, or is unknown to this one. `message` quotes no content. */
export class StateUnusable extends Schema.TaggedError<StateUnusable>()("StateUnusable", {
  actorId: Schema.String,
  message: Schema.String
}) {}
