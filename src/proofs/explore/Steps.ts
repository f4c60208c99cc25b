/**
 * The steps of a product state. A step of the service is: a command has an outcome, an answer is heard, a deadline fires.
 *
 * An answer is heard with its command (the usual case) or, where `lateMax` allows it, later: other events come between, a newer command of the lane
 * makes it an answer that nothing waits for, and a crash loses it, after which its command runs once more.
 */
import type { AnyEvent } from "../../engine/ActorDefinition.ts"
import {
  countsOf,
  isRenumbered,
  isSeenInContext,
  type Local,
  NOW,
  renumbered,
  renumbering,
  withPassed
} from "./canonical.ts"
import { ABSENT, Locals, type Settles } from "./Locals.ts"
import type {
  ActorKind,
  ActorView,
  By,
  Delivery,
  Happening,
  Outcome,
  Pending,
  Product,
  ProductView,
  Step
} from "./Product.ts"
import type { Reads } from "./Reads.ts"

export type Row = ReadonlyArray<number>
export interface Successor extends Step {
  readonly row: Row
  /** The same state before it was brought to its canonical form: comparable with the state before the step. */
  readonly plain: Row
}

/** A step being taken: the first word is the world's number, the others are the actors'. */
class Taking {
  readonly row: Array<number>
  readonly deliveries: Array<Delivery> = []
  readonly #steps: Steps<unknown>

  constructor(steps: Steps<unknown>, row: Row) {
    this.#steps = steps
    this.row = [...row]
  }

  send(place: number, event: AnyEvent | null, settles?: Settles) {
    const to = this.#steps.names[place]!
    const number = this.row[place]!
    if (number === ABSENT) return
    const { next, ...delivery } = this.#steps.locals.deliver(number, event, settles)
    this.row[place] = next
    if (event !== null) this.deliveries.push({ to, ...delivery })
  }

  apply({ world, makes, removes, tells }: Outcome<unknown>) {
    const { locals, places, kinds, worldNumber } = this.#steps
    if (world !== undefined) this.row[0] = worldNumber(world)
    for (const { name, input } of makes ?? []) {
      const place = places.get(name)!
      const { machine } = kinds[place]!
      const made = locals.made(machine.id, input)
      this.row[place] = made
      const state = locals.get(made).value
      const asked = locals.get(made).commands.map(({ type }) => type)
      this.deliveries.push({
        to: name,
        event: { type: "CREATED" },
        verdict: "made",
        code: null,
        from: null,
        state,
        asked
      })
    }
    for (const { to, event } of tells ?? []) this.send(places.get(to)!, event)
    for (const name of removes ?? []) {
      const place = places.get(name)!
      const from = locals.get(this.row[place]!).value
      this.row[place] = ABSENT
      const event = { type: "REMOVED" }
      this.deliveries.push({ to: name, event, verdict: "removed", code: null, from, state: null, asked: [] })
    }
  }
}

const commandKey = ({ type, params }: Pending) => `${type} ${JSON.stringify(params)}`

export class Steps<W> {
  readonly product: Product<W>
  readonly locals: Locals
  /** By place in a row; the first is the world. */
  readonly names: Array<string> = ["world"]
  readonly kinds: Array<ActorKind<W>> = [null as never]
  readonly places = new Map<string, number>()
  /** Places of actors that are alike. */
  readonly #alike: ReadonlyArray<ReadonlyArray<number>>
  readonly #worlds: Array<W> = []
  readonly #worldNumbers = new Map<string, number>()

  constructor(product: Product<W>, reads: Reads) {
    this.product = product
    this.locals = new Locals(product.kinds, product.lateMax, reads)
    for (const kind of product.kinds) {
      for (const name of kind.names) {
        this.places.set(name, this.names.length)
        this.names.push(name)
        this.kinds.push(kind)
      }
    }
    this.#alike = product.kinds
      .filter(({ names }) => names.length > 1)
      .map(({ names }) => names.map((name) => this.places.get(name)!))
  }

  readonly #counts = new Map<string, number>()

  #worldCounts(world: number, counter: string): number {
    const key = `${counter} ${world}`
    const known = this.#counts.get(key) ?? countsOf(this.#worlds[world], counter)
    this.#counts.set(key, known)
    return known
  }

  readonly worldNumber = (world: unknown): number => {
    const key = JSON.stringify(world)
    const known = this.#worldNumbers.get(key)
    if (known !== undefined) return known
    const number = this.#worlds.push(world as W) - 1
    this.#worldNumbers.set(key, number)
    return number
  }

  first(): Row {
    const row = [this.worldNumber(this.product.world)]
    for (const { machine, input } of this.kinds.slice(1)) {
      row.push(input === undefined ? ABSENT : this.locals.made(machine.id, input))
    }
    return this.#canonical(row)
  }

  view(row: Row): ProductView<W> {
    const actor = (name: string): ActorView | null => {
      const number = row[this.places.get(name) ?? -1] ?? ABSENT
      return number === ABSENT ? null : this.locals.view(number, name)
    }
    return {
      world: this.#worlds[row[0]!]!,
      actor,
      actors: this.names.slice(1).flatMap((name) => actor(name) ?? [])
    }
  }

  /** The actors of a state, without a record of what is read of them. */
  actorsIn(row: Row): ReadonlyArray<{ readonly name: string } & Pick<Local, "kind" | "value" | "context">> {
    return row.slice(1).flatMap((number, index) => {
      if (number === ABSENT) return []
      const { kind, value, context } = this.locals.get(number)
      return [{ name: this.names[index + 1]!, kind, value, context }]
    })
  }

  /** Deterministic: the same row has the same steps in the same order. */
  of(row: Row): ReadonlyArray<Successor> {
    const found: Array<Successor> = []
    const take = (by: By, label: string, act: (taking: Taking) => void) => {
      const taking = new Taking(this as Steps<unknown>, row)
      act(taking)
      found.push({ by, label, deliveries: taking.deliveries, row: this.#canonical(taking.row), plain: taking.row })
    }
    const view = this.view(row)
    const happenings = this.product.happenings(view)
    if (this.#urgentStep(row, view, happenings, take)) return found
    for (let place = 1; place < row.length; place++) {
      if (row[place] === ABSENT) continue
      this.#commandSteps(row, place, view, take)
      this.#deadlineSteps(row, place, take)
    }
    if (this.product.lateMax > 0) this.#crashStep(row, take)
    for (const happening of happenings) {
      take(happening.by, happening.label, (taking) => {
        taking.apply(happening as Outcome<unknown>)
      })
    }
    return found
  }

  /** True: there is one, and it is taken before all others. */
  #urgentStep(row: Row, view: ProductView<W>, happenings: ReadonlyArray<Happening<W>>, take: Take): boolean {
    for (let place = 1; place < row.length; place++) {
      if (row[place] === ABSENT) continue
      const { commands } = this.locals.get(row[place]!)
      const index = commands.findIndex(({ type }) => this.kinds[place]!.commands[type]!.isUrgent === true)
      if (index < 0) continue
      const self = this.locals.view(row[place]!, this.names[place]!)
      const { type, params } = self.commands[index]!
      const [outcome] = this.kinds[place]!.commands[type]!.outcomes(self, params, view)
      take("service", `${self.id} ${type}: ${outcome!.label}`, (taking) => {
        taking.apply(outcome as Outcome<unknown>)
        taking.send(place, outcome!.answer ?? null, { command: index })
      })
      return true
    }
    const urgent = happenings.find(({ isUrgent }) => isUrgent === true)
    if (urgent === undefined) return false
    take(urgent.by, urgent.label, (taking) => {
      taking.apply(urgent as Outcome<unknown>)
    })
    return true
  }

  #commandSteps(row: Row, place: number, view: ProductView<W>, take: Take) {
    const { locals, names, kinds } = this
    const local = locals.get(row[place]!)
    const self = locals.view(row[place]!, names[place]!)
    for (const [index, command] of local.commands.entries()) {
      if (command.answer !== undefined) {
        take("service", `${names[place]} hears ${command.answer.type}`, (taking) => {
          taking.send(place, command.answer!, { command: index })
        })
        continue
      }
      const key = commandKey(command)
      for (const outcome of kinds[place]!.commands[command.type]!.outcomes(self, self.commands[index]!.params, view)) {
        this.#outcomeSteps(place, key, outcome, `${names[place]} ${command.type}: ${outcome.label}`, take)
      }
    }
    for (const [index, event] of local.late.entries()) {
      take("service", `${names[place]} hears late ${event.type}`, (taking) => {
        taking.send(place, event, { late: index })
      })
    }
  }

  #outcomeSteps(place: number, key: string, outcome: Outcome<W>, label: string, take: Take) {
    /** The outcome's own events may have changed the actor: the command is where it is now, if it still is. */
    const indexIn = (row: Row) => this.locals.get(row[place]!).commands.findIndex((one) => commandKey(one) === key)
    const { answer, goesOn, isFault } = outcome
    const by = isFault === true ? "fault" : "service"
    take(by, label, (taking) => {
      taking.apply(outcome as Outcome<unknown>)
      if (goesOn === true) return
      const command = indexIn(taking.row)
      taking.send(place, answer ?? null, command < 0 ? {} : { command })
    })
    if (this.product.lateMax === 0 || goesOn === true) return
    take(
      answer === undefined ? "fault" : by,
      `${label}${answer === undefined ? ", and a crash forgets that" : ", to be heard later"}`,
      (taking) => {
        taking.apply(outcome as Outcome<unknown>)
        const index = indexIn(taking.row)
        if (answer === undefined || index < 0) return
        taking.row[place] = this.locals.derived(
          taking.row[place]!,
          `${index} answers ${JSON.stringify(answer)}`,
          (local) => ({
            ...local,
            commands: local.commands.map((one, at) => (at === index ? { ...one, answer } : one))
          })
        )
      }
    )
  }

  #deadlineSteps(row: Row, place: number, take: Take) {
    const local = this.locals.get(row[place]!)
    for (const [name, { at, event }] of Object.entries(local.deadlines)) {
      const passed = () => this.locals.derived(row[place]!, `passes ${at}`, (before) => withPassed(before, at))
      take("time", `the deadline ${name} of ${this.names[place]} fires`, (taking) => {
        if (at > NOW) taking.row[place] = passed()
        taking.send(place, event, { deadline: name })
      })
      if (at <= NOW || !isSeenInContext(local, at)) continue
      take("time", `the deadline ${name} of ${this.names[place]} passes, not fired yet`, (taking) => {
        taking.row[place] = passed()
      })
    }
  }

  /** The service's process ends: answers on their way are lost, and their commands run again. */
  #crashStep(row: Row, take: Take) {
    const hasAnswers = (number: number) =>
      number !== ABSENT &&
      (this.locals.get(number).late.length > 0 ||
        this.locals.get(number).commands.some(({ answer }) => answer !== undefined))
    if (!row.slice(1).some(hasAnswers)) return
    take("fault", "the service crashes", (taking) => {
      for (const [place, number] of row.entries()) {
        if (place === 0 || !hasAnswers(number)) continue
        taking.row[place] = this.locals.derived(number, "crashes", (local) => ({
          ...local,
          commands: local.commands.map(({ type, params }) => ({ type, params })),
          late: []
        }))
      }
    })
  }

  #canonical(row: ReadonlyArray<number>): Row {
    let found = row
    for (const counter of this.product.counters) {
      let bits = this.#worldCounts(found[0]!, counter)
      for (let place = 1; place < found.length; place++) bits |= this.locals.counts(found[place]!, counter)
      if (isRenumbered(bits)) continue
      const places = renumbering(bits)
      found = found.map((number, place) =>
        place === 0
          ? this.worldNumber(renumbered(this.#worlds[number], counter, places))
          : this.locals.renumbered(number, counter, places)
      )
    }
    if (this.#alike.length === 0) return found
    const sorted = [...found]
    for (const places of this.#alike) {
      const numbers = places.map((place) => found[place]!).sort((a, b) => a - b)
      for (const [index, place] of places.entries()) sorted[place] = numbers[index]!
    }
    return sorted
  }
}

type Take = (by: By, label: string, act: (taking: Taking) => void) => void
