/** The local states of actors, by number, and what an event does in each: decided once by the engine's own code (`src/engine/Transition.ts`). */
import type { AnyStateMachine } from "xstate"
import type { AnyEvent } from "../../engine/ActorDefinition.ts"
import { begin, decide, restore } from "../../engine/Transition.ts"
import { canonical, countsOf, type Local, NOW, renumbered } from "./canonical.ts"
import type { ActorKind, ActorView, Delivery, Pending } from "./Product.ts"
import type { Reads } from "./Reads.ts"

/** The number of an actor that does not exist. */
export const ABSENT = 0

/** What an event settles by its arrival. */
export interface Settles {
  /** The index of the command whose answer it is. */
  readonly command?: number
  readonly deadline?: string
  readonly late?: number
}

type Changed = Omit<Delivery, "to"> & { readonly next: number }

export class Locals {
  readonly #reads: Reads
  readonly #machines = new Map<string, AnyStateMachine>()
  readonly #lanes = new Map<string, Readonly<Record<string, string | null>>>()
  readonly #lateMax: number
  readonly #numbers = new Map<string, number>()
  readonly #locals: Array<Local | null> = [null]
  readonly #derived = new Map<string, number>()
  /** By id and number. */
  readonly #views = new Map<string, Array<ActorView>>()
  readonly #taken = new Set<string>()
  readonly #changes = new Map<string, Changed>()
  /** By counter and number. */
  readonly #counts = new Map<string, Array<number>>()

  // biome-ignore lint/suspicious/noExplicitAny: of any world.
  constructor(kinds: ReadonlyArray<ActorKind<any>>, lateMax: number, reads: Reads) {
    this.#reads = reads
    this.#lateMax = lateMax
    for (const { machine, commands } of kinds) {
      this.#machines.set(machine.id, reads.watched(machine))
      this.#lanes.set(
        machine.id,
        Object.fromEntries(Object.entries(commands).map(([name, { lane }]) => [name, lane] as const))
      )
    }
  }

  /** Of the machines' transitions those that were taken, as `machine state EVENT target`. */
  get taken(): ReadonlySet<string> {
    return this.#taken
  }

  /** All that the machines declare, in the same form. */
  get declared(): ReadonlySet<string> {
    return new Set([...this.#machines.values()].flatMap(transitionsOf))
  }

  get size(): number {
    return this.#locals.length - 1
  }

  get(number: number): Local {
    return this.#locals[number]!
  }

  number(local: Local): number {
    const { kind } = local
    const form = canonical({
      ...local,
      context: this.#reads.reduced(kind, local.context),
      commands: local.commands.map((one) => ({ ...one, params: this.#reads.reducedParams(kind, one.type, one.params) }))
    })
    const key = JSON.stringify(form)
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#locals.push(form) - 1
    this.#numbers.set(key, number)
    return number
  }

  counts(number: number, counter: string): number {
    if (number === ABSENT) return 0
    const known = this.#counts.get(counter) ?? []
    this.#counts.set(counter, known)
    const counted = known[number] ?? countsOf(this.get(number), counter)
    known[number] = counted
    return counted
  }

  renumbered(number: number, counter: string, places: ReadonlyMap<number, number>): number {
    return number === ABSENT ? ABSENT : this.number(renumbered(this.get(number), counter, places))
  }

  /** What a local state becomes without an event; `what` tells such changes apart. */
  derived(number: number, what: string, change: (local: Local) => Local): number {
    const key = `${number} ${what}`
    const known = this.#derived.get(key) ?? this.number(change(this.get(number)))
    this.#derived.set(key, known)
    return known
  }

  view(number: number, id: string): ActorView {
    const views = this.#views.get(id) ?? []
    this.#views.set(id, views)
    const known = views[number]
    if (known !== undefined) return known
    const { kind, value, context, commands, deadlines, late } = this.get(number)
    const view: ActorView = {
      id,
      kind,
      state: value,
      tags: new Set(this.#machines.get(kind)!.states[value]!.tags),
      context: this.#reads.context(kind, context),
      commands: commands.map((one) => ({
        ...one,
        params: this.#reads.paramsOf(kind, one.type, one.params) as Pending["params"]
      })),
      due: Object.entries(deadlines).flatMap(([name, { at }]) => (at <= NOW ? [name] : [])),
      late
    }
    views[number] = view
    return view
  }

  /** A new actor. */
  made(kind: string, input: unknown): number {
    const { snapshot, commands, deadlines } = begin(this.#machines.get(kind)!, input)
    return this.number({
      kind,
      value: snapshot.value as string,
      context: snapshot.context,
      commands: this.#withCommands(kind, [], commands).commands,
      deadlines,
      late: []
    })
  }

  /** As the engine does it (`withCommands`): a newer command of a lane replaces earlier ones. What these have answered arrives late. */
  #withCommands(
    kind: string,
    pending: ReadonlyArray<Pending>,
    asked: ReadonlyArray<{ type: string; params: unknown }>
  ) {
    const lanes = this.#lanes.get(kind)!
    const laneOf = (type: string): string | null => {
      const lane = lanes[type]
      if (lane === undefined) throw new Error(`The environment has no outcomes for the command ${type} of ${kind}.`)
      return lane
    }
    const taken = new Set(asked.map(({ type }) => laneOf(type)).filter((lane) => lane !== null))
    const isReplaced = ({ type }: Pending) => taken.has(laneOf(type) ?? "")
    const late = pending.filter(isReplaced).flatMap(({ answer }) => (answer === undefined ? [] : [answer]))
    const added = asked.map(({ type, params }) => ({ type, params: (params ?? {}) as Pending["params"] }))
    return { commands: [...pending.filter((one) => !isReplaced(one)), ...added], late }
  }

  /** The actor's next state after an event; `settles` leaves the actor together with it. */
  deliver(number: number, event: AnyEvent | null, settles: Settles = {}): Changed {
    const key = `${number} ${settles.command} ${settles.deadline} ${settles.late} ${JSON.stringify(event)}`
    const known = this.#changes.get(key)
    if (known !== undefined) return known
    const changed = this.#deliver(number, event, settles)
    this.#changes.set(key, changed)
    return changed
  }

  #deliver(number: number, event: AnyEvent | null, settles: Settles): Changed {
    const local = this.get(number)
    const { kind, value, context } = local
    const commands = local.commands.filter((_, index) => index !== settles.command)
    const late = local.late.filter((_, index) => index !== settles.late)
    const deadlines = Object.fromEntries(Object.entries(local.deadlines).filter(([name]) => name !== settles.deadline))
    const stays = (verdict: "unchanged" | "refused", code: string | null): Changed => ({
      next: this.number({ ...local, commands, late, deadlines }),
      event: event ?? { type: "" },
      verdict,
      code,
      from: value,
      state: value,
      asked: []
    })
    if (event === null) return stays("unchanged", null)
    const machine = this.#machines.get(kind)!
    const verdict = decide(machine, restore(machine, { value, context }), { ...event, at: NOW }, 1, deadlines)
    if (verdict.type !== "accepted") return stays(verdict.type, verdict.type === "refused" ? verdict.code : null)
    this.#taken.add(`${kind} ${value} ${event.type} ${verdict.snapshot.value}`)
    const after = this.#withCommands(kind, commands, verdict.commands)
    return {
      next: this.number({
        kind,
        value: verdict.snapshot.value as string,
        context: verdict.snapshot.context,
        commands: after.commands,
        deadlines: verdict.deadlines,
        late: [...late, ...after.late].slice(0, this.#lateMax)
      }),
      event,
      verdict: "accepted",
      code: null,
      from: value,
      state: verdict.snapshot.value as string,
      asked: verdict.commands.map(({ type }) => type)
    }
  }
}

const transitionsOf = (machine: AnyStateMachine): ReadonlyArray<string> =>
  Object.entries(machine.states).flatMap(([state, { config }]) =>
    Object.entries((config.on ?? {}) as Readonly<Record<string, unknown>>).flatMap(([event, listed]) =>
      [listed].flat().map((one) => {
        const { target } = (typeof one === "string" ? { target: one } : one) as { readonly target?: string }
        return `${machine.id} ${state} ${event} ${target ?? state}`
      })
    )
  )
