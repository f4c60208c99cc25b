/** One step in the life of a Sandbox, an Operation or a Preview, as its machine took it. */
import { Schema } from "effect"
import { declinedEventsMax } from "./Limits.ts"
import { NextCursor } from "./Query.ts"
import { Timestamp } from "./Text.ts"

const LoggedEvent = Schema.StructWithRest(
  Schema.Struct({ type: Schema.String.annotate({ description: "The event's name in the machine." }) }),
  [Schema.Record(Schema.String, Schema.Unknown)]
).annotate({ identifier: "LoggedEvent", description: "What the machine was told, with the event's own fields." })

export const Transition = Schema.Struct({
  revision: Schema.Int.annotate({ description: "1 for the first, without gaps." }),
  at: Timestamp.annotate({ description: "When it was taken." }),
  event: LoggedEvent,
  from: Schema.NullOr(Schema.String).annotate({ description: "The status before; null for the first." }),
  to: Schema.String.annotate({ description: "The status after." }),
  commands: Schema.Array(
    Schema.Struct({
      type: Schema.String.annotate({ description: "The command's name in the machine." }),
      params: Schema.Unknown.pipe(Schema.annotateKey({ description: "Its parameters; null where it has none." }))
    })
  ).annotate({
    description: "What the step asked the service to do."
  }),
  stillPending: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        revision: Schema.Int.annotate({ description: "The step that asked for it." }),
        index: Schema.Int.annotate({ description: "Its place among that step's commands, from 0." })
      })
    )
  ).annotate({
    description:
      "What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides. Null: not known, of a step that an older version of the service took."
  }),
  cause: Schema.String.annotate({ description: "Who or what sent the event." }),
  requestId: Schema.NullOr(Schema.String).annotate({ description: "Of the request that sent it; null where none did." })
}).annotate({ identifier: "Transition", description: "One step of a state machine, as it was committed." })
export interface Transition extends Schema.Schema.Type<typeof Transition> {}

export const TransitionList = Schema.Struct({
  transitions: Schema.Array(Transition).annotate({ description: "One page." }),
  nextCursor: NextCursor,
  nextEvents: Schema.Array(Schema.String).annotate({ description: "The events that the present state accepts." }),
  stored: Schema.Struct({
    revision: Schema.Int.annotate({ description: "How many transitions made it so." }),
    status: Schema.String.annotate({ description: "The machine's state." }),
    context: Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "What the machine remembers." })
  }).annotate({
    description:
      "The present context of the machine. Folding the log up to this revision through the machine gives the same. Read before the log, which may be ahead."
  })
}).annotate({ identifier: "TransitionList", description: "Oldest first." })
export interface TransitionList extends Schema.Schema.Type<typeof TransitionList> {}

export const DeclinedEvent = Schema.Struct({
  revision: Schema.Int.annotate({
    description: "Of the state that did not take it: after this transition, and before the next."
  }),
  at: Timestamp.annotate({ description: "When it came." }),
  state: Schema.String.annotate({ description: "The status that it met." }),
  event: LoggedEvent,
  code: Schema.NullOr(Schema.String).annotate({
    description:
      "Why the machine refused it; null: the state answered with itself, as a repeated or late cancel is answered."
  }),
  cause: Schema.String.annotate({ description: "Who or what sent the event." }),
  requestId: Schema.NullOr(Schema.String).annotate({ description: "Of the request that sent it; null where none did." })
}).annotate({ identifier: "DeclinedEvent", description: "An event that came and changed nothing." })
export interface DeclinedEvent extends Schema.Schema.Type<typeof DeclinedEvent> {}

export const DeclinedEventList = Schema.Struct({
  declined: Schema.Array(DeclinedEvent).annotate({ description: "Those that are kept." }),
  truncated: Schema.Boolean.annotate({
    description: `There were more: the first ${declinedEventsMax} are kept.`
  })
}).annotate({ identifier: "DeclinedEventList", description: "In the order in which they came." })
export interface DeclinedEventList extends Schema.Schema.Type<typeof DeclinedEventList> {}

/** What lives in a Sandbox and ends with it; and its snapshots, which outlive it. */
export const innerKinds = ["operation", "preview", "serviceAccess", "connectionGrant", "snapshot"] as const

export const InnerTransition = Schema.Struct({
  kind: Schema.Literals(innerKinds).annotate({ description: "What took it." }),
  actorId: Schema.String.annotate({ description: "Whose step it is: an operation's id; a preview's is not its id." }),
  sandboxId: Schema.String.annotate({
    description: "The Sandbox that it lived in; empty for a snapshot that was imported."
  }),
  ...Transition.fields
}).annotate({
  identifier: "InnerTransition",
  description: "A Transition and whose it is, as the event streams tell it."
})
export interface InnerTransition extends Schema.Schema.Type<typeof InnerTransition> {}

export const SandboxHistory = Schema.Struct({
  transitions: Schema.Array(InnerTransition).annotate({ description: "One page." }),
  nextCursor: NextCursor
}).annotate({
  identifier: "SandboxHistory",
  description: "Thing by thing, the newest first, and each with its log from its beginning."
})
export interface SandboxHistory extends Schema.Schema.Type<typeof SandboxHistory> {}
