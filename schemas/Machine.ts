/** The state machines themselves, as data: what a program needs to draw one, or to predict what it would do. */
import { Schema } from "effect"
import { oneOf } from "./OneOf.ts"

const nameOf = (what: string) => Schema.String.annotate({ description: `The name of the ${what}.` })
const told = Schema.String.annotate({ description: "What it means, in a sentence." })

const Named = Schema.Struct({ name: nameOf("event, guard or command"), description: told }).annotate({
  identifier: "MachinePart",
  description: "An event, a guard or a command, and what it means."
})

const Command = Schema.Struct({
  name: nameOf("command"),
  deadline: Schema.NullOr(Schema.String).annotate({
    description: "The named deadline that `schedule` sets and `unschedule` forgets; null of other commands."
  })
}).annotate({ identifier: "MachineCommand", description: "Something that the service is asked to do." })

const MachineState = Schema.Struct({
  name: nameOf("state"),
  description: told,
  isFinal: Schema.Boolean.annotate({ description: "Nothing leads out of it." }),
  tags: Schema.Array(Schema.String).annotate({ description: "The service selects states by these tags." }),
  entry: Schema.Array(Command).annotate({ description: "What is done when it is entered." }),
  exit: Schema.Array(Command).annotate({ description: "What is done when it is left." }),
  unchanged: Schema.Array(Schema.String).annotate({ description: "Events that it answers with itself." }),
  refuses: Schema.Record(Schema.String, Schema.String).annotate({
    description: "Events that it refuses, also those whose guards all say no, with the reason's code."
  })
}).annotate({
  identifier: "MachineState",
  description: "One state, and what it says of events that it has no transition for."
})

const MachineTransition = Schema.Struct({
  id: Schema.String.annotate({ description: "`from.EVENT.index`; those of one event are tried in order." }),
  from: nameOf("state in which it is tried"),
  event: nameOf("event"),
  guard: Schema.NullOr(Schema.String).annotate({ description: "Which must say yes; null: none is asked." }),
  to: Schema.NullOr(Schema.String).annotate({
    description: "Null: it stays in the state, and does not enter it again."
  }),
  commands: Schema.Array(Command).annotate({ description: "What is done on the way." }),
  notes: Schema.Array(Schema.String).annotate({ description: "Actions that only note something in the context." }),
  description: told
}).annotate({
  identifier: "MachineTransition",
  description: "From which state an event leads where, and what it asks for."
})

const kind = Schema.String.annotate({ description: "What it is the life of: sandbox, operation, …" })
const version = Schema.Int.annotate({ description: "Grows when what is stored of it changes." })

const Machine = Schema.Struct({
  kind,
  version,
  description: told,
  initial: nameOf("state in which it begins"),
  states: Schema.Array(MachineState).annotate({ description: "All states." }),
  events: Schema.Array(Named).annotate({ description: "All that it can be told." }),
  transitions: Schema.Array(MachineTransition).annotate({ description: "In the order in which they are tried." }),
  guards: Schema.Array(Named).annotate({ description: "The conditions of transitions." }),
  commands: Schema.Array(Named).annotate({ description: "What it can ask the service to do." }),
  drawing: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "Where each state, edge and label stands, in SVG user units from the upper left corner."
  }),
  overview: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The same for a smaller diagram, which has only the names of states and events."
  })
}).annotate({
  identifier: "Machine",
  description: "A state machine as data: its states, events, transitions and commands."
})

const MermaidMachine = Schema.Struct({
  kind,
  version,
  mermaid: Schema.String.annotate({ description: "A Mermaid state diagram." })
}).annotate({ identifier: "MermaidMachine", description: "A state machine as a Mermaid diagram." })

export const MachineList = Schema.Struct({
  machines: Schema.Union([Schema.Array(Machine), Schema.Array(MermaidMachine)]).annotate({
    description: "All of the service's machines, in the format that was asked for."
  })
}).annotate({ identifier: "MachineList", description: "The state machines of this API." })

export const MachineFormat = oneOf("MachineFormat", ["json", "mermaid"], "How the machines are told; json by default.")
