/** Mutants of what the configuration names: each guard holds always or never; each field that an assignment or the first context writes is not written, or otherwise. */
import type { AnyStateMachine } from "xstate"
import { assigned, writesOf } from "../../support/machines/watchedMachine.ts"
import { changed, draftOf, type Mutant, otherwise } from "./Mutant.ts"

type Fields = Record<string, unknown>

/** By the name of an assignment, the fields that it writes: found by running the machine. */
export type FieldsOfAssigns = ReadonlyMap<string, ReadonlySet<string>>

const without =
  (field: string) =>
  ({ [field]: _, ...rest }: Fields): Fields =>
    rest

const other =
  (field: string) =>
  (fields: Fields): Fields =>
    field in fields ? { ...fields, [field]: otherwise(fields[field]) } : fields

const ofAssigns = (machine: AnyStateMachine, known: FieldsOfAssigns): ReadonlyArray<Mutant> =>
  Object.entries(draftOf(machine).actions).flatMap(([name, action]) => {
    const writes = writesOf(action)
    if (writes === null) return []
    const make = (change: (fields: Fields) => Fields) => () =>
      changed(machine, ({ actions }) => {
        actions[name] = assigned(writes, change)
      })
    return [...(known.get(name) ?? [])].flatMap((field) => [
      { state: null, event: null, id: `${machine.id} ${name}: ${field} not written`, make: make(without(field)) },
      { state: null, event: null, id: `${machine.id} ${name}: another ${field}`, make: make(other(field)) }
    ])
  })

const ofGuards = (machine: AnyStateMachine): ReadonlyArray<Mutant> =>
  Object.keys(draftOf(machine).guards).flatMap((name) =>
    [true, false].map((holds) => ({
      state: null,
      event: null,
      id: `${machine.id} guard ${name}: ${holds ? "always" : "never"}`,
      make: () =>
        changed(machine, ({ guards }) => {
          guards[name] = () => holds
        })
    }))
  )

const ofFirstContext = (machine: AnyStateMachine): ReadonlyArray<Mutant> => {
  const { context } = draftOf(machine)
  return Object.keys(context({ input: undefined })).flatMap((field) =>
    (
      [
        ["not written", without(field)],
        ["otherwise", other(field)]
      ] as const
    ).map(([what, change]) => ({
      state: null,
      event: null,
      id: `${machine.id} context: ${field} ${what}`,
      make: () =>
        changed(machine, (draft) => {
          draft.context = (args) => change(context(args))
        })
    }))
  )
}

export const mutantsOfImplementations = (machine: AnyStateMachine, known: FieldsOfAssigns): ReadonlyArray<Mutant> => [
  ...ofGuards(machine),
  ...ofAssigns(machine, known),
  ...ofFirstContext(machine)
]
