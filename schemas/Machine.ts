/** The state machines themselves, as data: what a program needs to draw one, or to say what would happen in it. */
import { Schema } from "effect"
import { oneOf } from "./OneOf.ts"

const Named = Schema.Struct({ name: Schema.String, description: Schema.String })

const Command = Schema.Struct({
  name: Schema.String,
  deadline: Schema.NullOr(Schema.String).annotate({
    description: "The named deadline that `schedule` sets and `unschedule` forgets; null of other commands."
  })
})

const MachineState = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  isFinal: Schema.Boolean,
  tags: Schema.Array(Schema.String),
  entry: Schema.Array(Command),
  exit: Schema.Array(Command),
  unchanged: Schema.Array(Schema.String).annotate({ description: "Events that it answers with itself." }),
  refuses: Schema.Record(Schema.String, Schema.String).annotate({
    description: "Events that it refuses, also those whose guards all say no, with the reason's code."
  })
})

const MachineTransition = Schema.Struct({
  id: Schema.String.annotate({ description: "`from.EVENT.index`; those of one event are tried in order." }),
  from: Schema.String,
  event: Schema.String,
  guard: Schema.NullOr(Schema.String),
  to: Schema.NullOr(Schema.String).annotate({
    description: "Null: it stays in the state, and does not enter it anew."
  }),
  commands: Schema.Array(Command),
  notes: Schema.Array(Schema.String).annotate({ description: "Actions that only note something in the context." }),
  description: Schema.String
})

const Machine = Schema.Struct({
  kind: Schema.String,
  version: Schema.Int,
  description: Schema.String,
  initial: Schema.String,
  states: Schema.Array(MachineState),
  events: Schema.Array(Named),
  transitions: Schema.Array(MachineTransition),
  guards: Schema.Array(Named),
  commands: Schema.Array(Named),
  drawing: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "Where each state, edge and label stands, in SVG user units from the upper left corner."
  })
}).annotate({ identifier: "Machine" })

const MermaidMachine = Schema.Struct({
  kind: Schema.String,
  version: Schema.Int,
  mermaid: Schema.String.annotate({ description: "A Mermaid state diagram." })
}).annotate({ identifier: "MermaidMachine" })

export const MachineList = Schema.Struct({
  machines: Schema.Union([Schema.Array(Machine), Schema.Array(MermaidMachine)])
}).annotate({ identifier: "MachineList" })

export const MachineFormat = oneOf("MachineFormat", ["json", "mermaid"])
