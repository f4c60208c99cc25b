/**
 * The steps of a machine without nested states, looked up once: what XState works out at each event from its tree of states, at a tenth of its time.
 * A log of millions of transitions is folded by it. Live actors use XState; `test/unit/engine/flatMachine.test.ts` holds both to the same decisions.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate"
import type { PendingCommand, StoredSnapshot } from "../../store/JournalRecord.ts"
import type { AnyEvent } from "../ActorDefinition.ts"
import { type AssignAction, changesOf, isAssign } from "../quickAssign.ts"
import { type Declined, declined, isDeadline } from "../Transition.ts"
import type { MachineFold } from "./MachineFold.ts"

type Context = Readonly<Record<string, unknown>>

interface Args {
  readonly context: Context
  readonly event: AnyEvent
}

interface FlatGuard {
  readonly holds: (args: Args, params: unknown) => boolean
  readonly params: unknown
}

interface FlatAction {
  readonly type: string
  readonly params: unknown
  /** Null: a command or a deadline. */
  readonly assignment: AssignAction["assignment"] | null
}

interface Choice {
  readonly guard: FlatGuard | null
  readonly target: string
  readonly actions: ReadonlyArray<FlatAction>
  /** It has neither target nor actions. */
  readonly isNothing: boolean
}

type Choices = ReadonlyMap<string, ReadonlyArray<Choice>>

/** Something that only XState can do. */
class NotFlat extends Error {}

const none: ReadonlyArray<Choice> = []

const isNamed = (value: unknown): value is { readonly type: string; readonly params?: unknown } =>
  typeof value === "object" && value !== null && "type" in value

const named = (value: unknown): { readonly type: string; readonly params?: unknown } => {
  if (typeof value === "string") return { type: value }
  if (isNamed(value)) return value
  throw new NotFlat("an action or a guard without a name")
}

const paramsOf = (params: unknown, args: Args): unknown => (typeof params === "function" ? params(args) : params)

const actionOf = (machine: AnyStateMachine, value: unknown): FlatAction => {
  const { type, params } = named(value)
  const implementation: unknown = machine.implementations.actions[type]
  if (isAssign(implementation)) return { type, params, assignment: implementation.assignment }
  if (typeof implementation === "function" && "resolve" in implementation) throw new NotFlat(`the action ${type}`)
  return { type, params, assignment: null }
}

const guardOf = (machine: AnyStateMachine, value: unknown): FlatGuard | null => {
  if (value === undefined) return null
  const { type, params } = named(value)
  const implementation: unknown = machine.implementations.guards[type]
  if (typeof implementation !== "function" || "check" in implementation) throw new NotFlat(`the guard ${type}`)
  return { holds: implementation as FlatGuard["holds"], params }
}

const choicesOf = (machine: AnyStateMachine, node: AnyStateNode): Choices => {
  const isPlain = node.type === "atomic" || (node.type === "final" && node.exit.length + node.transitions.size === 0)
  const isAlone = node.invoke.length === 0 && (node.always ?? []).length === 0 && node.after.length === 0
  if (!isPlain || !isAlone) throw new NotFlat(`the state ${node.key}`)
  const choices = new Map<string, ReadonlyArray<Choice>>()
  for (const [type, transitions] of node.transitions) {
    if (type.includes("*")) throw new NotFlat(`the event ${type}`)
    const of = transitions.map(({ guard, target: targets, actions, reenter }): Choice => {
      const target: AnyStateNode = targets?.[0] ?? node
      const isMove = targets !== undefined && (target !== node || reenter)
      const all = isMove ? [...node.exit, ...actions, ...target.entry] : actions
      return {
        guard: guardOf(machine, guard),
        target: target.key,
        actions: all.map((one) => actionOf(machine, one)),
        isNothing: targets === undefined && actions.length === 0
      }
    })
    choices.set(type, of)
  }
  return choices
}

class FlatFold implements MachineFold {
  readonly #flat: FlatMachine
  value: string
  context: Context
  commands: ReadonlyArray<PendingCommand> = []

  constructor(flat: FlatMachine, { value, context }: StoredSnapshot) {
    this.#flat = flat
    this.value = value
    this.context = context as Context
  }

  apply(event: AnyEvent, revision: number): Declined | null {
    for (const choice of this.#flat.choices.get(this.value)?.get(event.type) ?? none) {
      const { guard } = choice
      if (guard !== null) {
        const args = { context: this.context, event }
        if (!guard.holds(args, paramsOf(guard.params, args))) continue
      }
      if (choice.isNothing) break
      this.run(choice.actions, event, revision)
      this.value = choice.target
      return null
    }
    return declined(this.#flat.machine, this.value, event)
  }

  run(actions: ReadonlyArray<FlatAction>, event: AnyEvent, revision: number): void {
    const commands: Array<PendingCommand> = []
    for (const { type, params, assignment } of actions) {
      if (assignment === null && isDeadline(type)) continue
      const args = { context: this.context, event }
      const given = paramsOf(params, args)
      if (assignment !== null) this.context = { ...this.context, ...changesOf(assignment, args, given) }
      else commands.push({ key: `${revision}.${commands.length}`, type, params: given ?? null })
    }
    this.commands = commands
  }
}

export class FlatMachine {
  readonly machine: AnyStateMachine
  readonly choices: ReadonlyMap<string, Choices>
  readonly #initial: string
  /** What the first state does when it is entered. */
  readonly #entry: ReadonlyArray<FlatAction>

  private constructor(machine: AnyStateMachine) {
    this.machine = machine
    const { root } = machine
    const { target, actions } = root.initial
    if (root.transitions.size + root.entry.length + root.exit.length + actions.length > 0) throw new NotFlat("the root")
    const first = target[0] as AnyStateNode
    this.choices = new Map(Object.values(machine.states).map((node) => [node.key, choicesOf(machine, node)]))
    this.#initial = first.key
    this.#entry = first.entry.map((one: unknown) => actionOf(machine, one))
  }

  /** Null: it has something that only XState can do, such as nested states or timers. */
  static of(machine: AnyStateMachine): FlatMachine | null {
    try {
      return new FlatMachine(machine)
    } catch (cause) {
      if (cause instanceof NotFlat) return null
      throw cause
    }
  }

  /** Throws what the machine throws. */
  begin(input: unknown): MachineFold {
    const { context: given = {} } = this.machine.config
    const context: unknown = typeof given === "function" ? given({ input } as never) : given
    const fold = new FlatFold(this, { value: this.#initial, context })
    fold.run(this.#entry, { type: "xstate.init", input } as AnyEvent, 1)
    return fold
  }

  resume(snapshot: StoredSnapshot): MachineFold {
    return new FlatFold(this, snapshot)
  }
}
