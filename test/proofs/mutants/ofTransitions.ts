/** Mutants of each transition: its branches, its guard, its target, its actions. */
import type { AnyStateMachine } from "xstate"
import { type Branch, changed, type Draft, draftOf, type Mutant, otherwise } from "./Mutant.ts"
import { mutantsOfActions, type ParamsOfCommands } from "./ofActions.ts"

interface Place {
  readonly machine: AnyStateMachine
  readonly state: string
  readonly event: string
  readonly branch: Branch
  readonly index: number
  readonly branches: ReadonlyArray<Branch>
}

const idOf = ({ machine, state, event, index, branches }: Place) =>
  `${machine.id} ${state} ${event}${branches.length > 1 ? ` ${index + 1}.` : ""}`

const branchIn = (draft: Draft, { state, event, index }: Place): Branch => draft.states[state]!.on[event]![index]!

const mutant = (place: Place, what: string, change: (branch: Branch, draft: Draft) => void): Mutant => ({
  state: place.state,
  event: place.event,
  id: `${idOf(place)}: ${what}`,
  make: () => changed(place.machine, (draft) => change(branchIn(draft, place), draft))
})

const ofList = (place: Place): ReadonlyArray<Mutant> => {
  const { state, event, index, branches } = place
  const without = mutant(place, branches.length > 1 ? "branch dropped" : "removed", (_, { states }) => {
    const { on } = states[state]!
    on[event]!.splice(index, 1)
    if (branches.length === 1) delete on[event]
  })
  const swapped = mutant(place, "before the branch above it", (branch, { states }) => {
    const list = states[state]!.on[event]!
    list.splice(index - 1, 2, branch, list[index - 1]!)
  })
  return index === 0 ? [without] : [without, swapped]
}

const ofGuard = (place: Place): ReadonlyArray<Mutant> => {
  const { guard } = place.branch
  if (guard === undefined) return []
  const { type, params = {} } = typeof guard === "string" ? { type: guard } : guard
  return [
    mutant(place, `guard ${type} removed`, (branch) => {
      delete branch.guard
    }),
    mutant(place, `guard ${type} negated`, (branch, { guards }) => {
      const holds = guards[type]!
      guards["negated"] = (args, given) => !holds(args, given)
      branch.guard = { type: "negated", params }
    }),
    ...Object.entries(params).map(([name, value]) =>
      mutant(place, `guard ${type} with another ${name}`, (branch) => {
        branch.guard = { type, params: { ...params, [name]: otherwise(value) } }
      })
    )
  ]
}

const ofTarget = (place: Place, states: ReadonlyArray<string>): ReadonlyArray<Mutant> => {
  const { target, reenter } = place.branch
  if (target === undefined) return []
  return [
    ...states
      .filter((state) => state !== target)
      .map((state) =>
        mutant(place, `to ${state}`, (branch) => {
          branch.target = state
        })
      ),
    // Without entering again, a target of one's own is none.
    ...(target === place.state && reenter !== true
      ? []
      : [
          mutant(place, "without its target", (branch) => {
            delete branch.target
          })
        ]),
    // Another state is always entered.
    ...(target === place.state && reenter === true
      ? [
          mutant(place, "without entering again", (branch) => {
            branch.reenter = false
          })
        ]
      : [])
  ]
}

export const mutantsOfTransitions = (machine: AnyStateMachine, known: ParamsOfCommands): ReadonlyArray<Mutant> => {
  const { states } = draftOf(machine)
  return Object.entries(states).flatMap(([state, { on }]) =>
    Object.entries(on).flatMap(([event, branches]) =>
      branches.flatMap((branch, index) => {
        const place: Place = { machine, state, event, branch, index, branches }
        return [
          ...ofList(place),
          ...ofGuard(place),
          ...ofTarget(place, Object.keys(states)),
          ...mutantsOfActions(
            { ...place, id: idOf(place) },
            branch.actions,
            known,
            (draft) => branchIn(draft, place).actions
          )
        ]
      })
    )
  )
}
