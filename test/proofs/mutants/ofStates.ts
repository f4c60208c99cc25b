/** Mutants of each state: its tags, its `meta`, its entry and exit, whether it is final; and which one is first. */
import type { AnyStateMachine } from "xstate"
import { changed, draftOf, type Mutant, type StateDraft } from "./Mutant.ts"
import { mutantsOfActions, type ParamsOfCommands } from "./ofActions.ts"

type Change = readonly [what: string, change: (state: StateDraft) => void]

const ofTags = ({ tags }: StateDraft, all: ReadonlyArray<string>): ReadonlyArray<Change> => [
  ...tags.map((tag): Change => [`without tag ${tag}`, (state) => void state.tags.splice(tags.indexOf(tag), 1)]),
  ...all
    .filter((tag) => !tags.includes(tag))
    .map((tag): Change => [`with tag ${tag}`, (state) => void state.tags.push(tag)])
]

/** `meta` is asked only where no branch is free: an entry beside a branch without a guard says nothing. */
const isAsked = ({ on }: StateDraft, event: string): boolean =>
  on[event] === undefined || on[event].every(({ guard }) => guard !== undefined)

const ofMeta = (state: StateDraft): ReadonlyArray<Change> => {
  const { unchanged, refuses } = state.meta
  const asked = unchanged.filter((event) => isAsked(state, event))
  const refused = Object.keys(refuses).filter((event) => isAsked(state, event) && !unchanged.includes(event))
  return [
    ...asked.map(
      (event): Change => [
        `${event} not unchanged`,
        ({ meta }) => void meta.unchanged.splice(meta.unchanged.indexOf(event), 1)
      ]
    ),
    ...refused.flatMap(
      (event): ReadonlyArray<Change> => [
        [`${event} not refused`, ({ meta }) => void delete meta.refuses[event]],
        [
          `${event} refused with another code`,
          ({ meta }) => {
            meta.refuses[event] = "OTHER"
          }
        ],
        [`${event} unchanged`, ({ meta }) => void meta.unchanged.push(event)]
      ]
    )
  ]
}

const ofType = ({ type }: StateDraft): ReadonlyArray<Change> =>
  type === "final" ? [["not final", (state) => void delete state.type]] : []

export const mutantsOfStates = (machine: AnyStateMachine, known: ParamsOfCommands): ReadonlyArray<Mutant> => {
  const { states, initial } = draftOf(machine)
  const all = [...new Set(Object.values(states).flatMap(({ tags }) => tags))]
  return [
    ...Object.keys(states)
      .filter((state) => state !== initial)
      .map((state) => ({
        state: null,
        event: null,
        id: `${machine.id}: begins ${state}`,
        make: () =>
          changed(machine, (draft) => {
            draft.initial = state
          })
      })),
    ...Object.entries(states).flatMap(([name, state]) => [
      ...[...ofTags(state, all), ...ofMeta(state), ...ofType(state)].map(([what, change]) => ({
        state: name,
        event: null,
        id: `${machine.id} ${name}: ${what}`,
        make: () => changed(machine, (draft) => change(draft.states[name]!))
      })),
      ...(["entry", "exit"] as const).flatMap((list) =>
        mutantsOfActions(
          { machine, id: `${machine.id} ${name} ${list}`, state: name, event: null },
          state[list],
          known,
          (draft) => draft.states[name]![list]
        )
      )
    ])
  ]
}
