/** Mistakes of the quick steps by which `histories verify` folds a log. */
import type { TextMutant } from "./TextMutant.ts"

const flat = "src/engine/history/FlatMachine.ts"
const alike = "test/unit/engine/flatMachine.test.ts"

export const ofFold: ReadonlyArray<TextMutant> = [
  {
    id: "a state is entered before its transition's actions",
    file: flat,
    from: "[...node.exit, ...actions, ...target.entry]",
    to: "[...node.exit, ...target.entry, ...actions]",
    suites: [alike]
  },
  {
    id: "a state is left after its transition's actions",
    file: flat,
    from: "[...node.exit, ...actions, ...target.entry]",
    to: "[...actions, ...node.exit, ...target.entry]",
    suites: [alike]
  },
  {
    id: "a transition to its own state enters it again",
    file: flat,
    from: "targets !== undefined && (target !== node || reenter)",
    to: "targets !== undefined",
    suites: [alike]
  },
  {
    id: "a transition that reenters its state does not",
    file: flat,
    from: "(target !== node || reenter)",
    to: "target !== node",
    suites: [alike]
  },
  {
    id: "a transition without a target and actions is taken",
    file: flat,
    from: "if (choice.isNothing) break",
    to: "",
    suites: [alike]
  },
  {
    id: "a guard does not see its parameters",
    file: flat,
    from: "guard.holds(args, paramsOf(guard.params, args))",
    to: "guard.holds(args, undefined)",
    suites: [alike]
  },
  {
    id: "an action's parameters are not made of the present context",
    file: flat,
    from: "const given = paramsOf(params, args)",
    to: "const given = params",
    suites: [alike]
  },
  {
    id: "deadlines count as commands",
    file: flat,
    from: "if (assignment === null && isDeadline(type)) continue",
    to: "",
    suites: [alike]
  },
  {
    id: "the first state is not entered",
    file: flat,
    from: `fold.run(this.#entry, { type: "xstate.init", input } as AnyEvent, 1)`,
    to: "",
    suites: [alike]
  }
]
