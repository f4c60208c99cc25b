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

export type ActorError = EventRefused | ActorNotFound | MailboxFull
