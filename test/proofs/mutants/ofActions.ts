/** Mutants of a list of actions: each left out; each value that it is given another one; a deadline earlier and later. */
import type { AnyStateMachine } from "xstate"
import { changed, type Draft, type Mutant, otherwise, type PlainAction } from "./Mutant.ts"

/** By the type of a command, the names of its values: found by running the machine. */
export type ParamsOfCommands = ReadonlyMap<string, ReadonlySet<string>>

type Fields = Record<string, unknown>

const valuesOf = ({ type, params }: PlainAction, known: ParamsOfCommands): ReadonlyArray<string> => {
  if (params === undefined) return []
  if (typeof params === "object") return Object.keys(params as Fields)
  return [...(known.get(type) ?? [])]
}

const withParams = ({ type, params }: PlainAction, change: (fields: Fields) => Fields): PlainAction => ({
  type,
  params: (args: unknown) => change({ ...((typeof params === "function" ? params(args) : params) as Fields) })
})

const scheduled: Readonly<Record<string, (fields: Fields) => Fields>> = {
  "1 ms earlier": ({ at, ...rest }) => ({ ...rest, at: at === null ? null : Number(at) - 1 }),
  "1 ms later": ({ at, ...rest }) => ({ ...rest, at: at === null ? null : Number(at) + 1 }),
  "under another name": ({ name, ...rest }) => ({ ...rest, name: otherwise(name) }),
  "with another event": ({ event, ...rest }) => ({ ...rest, event: { ...(event as Fields), type: "OTHER" } }),
  "without the event's generation": ({ event, ...rest }) => {
    const { generation: _, ...other } = event as Fields
    return { ...rest, event: other }
  }
}

/** Whether a deadline's event names a generation. Not every function can be asked without an actor: such a one does not. */
const hasGeneration = ({ params }: PlainAction): boolean => {
  const none = { context: {}, event: {} }
  try {
    const { event } = (typeof params === "function" ? params(none) : params) as { readonly event: object }
    return "generation" in event
  } catch {
    return false
  }
}

/** Of `schedule` those that change something. */
const changesOf = (action: PlainAction, known: ParamsOfCommands): ReadonlyArray<readonly [string, PlainAction]> => {
  if (action.type === "schedule") {
    const changes = Object.entries(scheduled).filter(([name]) => !name.endsWith("generation") || hasGeneration(action))
    return changes.map(([name, change]) => [name, withParams(action, change)] as const)
  }
  return valuesOf(action, known).map(
    (field) =>
      [`another ${field}`, withParams(action, (fields) => ({ ...fields, [field]: otherwise(fields[field]) }))] as const
  )
}

interface Place extends Pick<Mutant, "state" | "event" | "id"> {
  readonly machine: AnyStateMachine
}

/** @param listIn The same list in a copy. */
export const mutantsOfActions = (
  { machine, id, state, event }: Place,
  actions: ReadonlyArray<PlainAction>,
  known: ParamsOfCommands,
  listIn: (draft: Draft) => Array<PlainAction>
): ReadonlyArray<Mutant> =>
  actions.flatMap((action, index) => {
    const { type } = action
    const isRepeated = actions.filter((one) => one.type === type).length > 1
    const named = isRepeated ? `${type} (${index + 1}.)` : type
    return [
      {
        state,
        event,
        id: `${id}: without ${named}`,
        make: () => changed(machine, (draft) => void listIn(draft).splice(index, 1))
      },
      ...changesOf(action, known).map(([what, other]) => ({
        state,
        event,
        id: `${id}: ${named} ${what}`,
        make: () => changed(machine, (draft) => void listIn(draft).splice(index, 1, other))
      }))
    ]
  })
