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

/** The actor has as many messages waiting as its mailbox holds. */
export class MailboxFull extends Schema.TaggedError<MailboxFull>()("MailboxFull", { actorId: Schema.String }) {}

/** Nothing was committed: another owner came first, or another call took the message's key. Whoever sent it looks at the key. */
export class KeyContended extends Schema.TaggedError<KeyContended>()("KeyContended", { actorId: Schema.String }) {}

export type ActorError = EventRefused | ActorNotFound | MailboxFull

/** Between processes: whoever was asked does not own the actor (any more). The sender looks for the owner again. */
export class ActorMoved extends Schema.TaggedError<ActorMoved>()("ActorMoved", { actorId: Schema.String }) {}

/** Between processes: the owner met a defect. It would meet it again, but for one that `passes`; before there was that, none said so. */
export class ActorFailed extends Schema.TaggedError<ActorFailed>()("ActorFailed", {
  message: Schema.String,
  passes: Schema.optional(Schema.Boolean)
}) {}

/**
 * A defect: no process of the cluster owned the actor, or its owner was without its database, for longer than a caller should wait. Trying
 * again soon helps.
 */
export class OwnerAway extends Schema.TaggedError<OwnerAway>()("OwnerAway", { actorId: Schema.String }) {}

/** A defect: the database can never store what the machine decided. Nothing was committed. */
export class TransitionRefused extends Schema.TaggedError<TransitionRefused>()("TransitionRefused", {
  actorId: Schema.String
}) {}

/** A defect: what is stored of the actor is of a newer version, or none that this one knows. `message` names no content. */
export class StateUnusable extends Schema.TaggedError<StateUnusable>()("StateUnusable", {
  actorId: Schema.String,
  message: Schema.String
}) {}
