/**
 * Instants that tell where they come from: each field of a context, each deadline and each field of an event has another one, far from the rest. So an instant
 * that a machine computes has one reading only, `updatedAt + 60000`, and a machine that takes the wrong one is seen.
 */
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import type { Deadlines, StoredSnapshot } from "../../../src/store/JournalRecord.ts"
import { at } from "./sampleValues.ts"

/** Further apart than anything that is added to an instant. */
const apartMs = 1_000_000_000
const nearMs = apartMs / 4

type Fields = Readonly<Record<string, unknown>>

const isInstant = (field: string, value: unknown): value is number => field.endsWith("At") && typeof value === "number"

/** The n-th text that is asked for has the number n. */
class Places {
  readonly #known = new Map<string, number>()
  of(name: string): number {
    const place = this.#known.get(name) ?? this.#known.size + 1
    this.#known.set(name, place)
    return place
  }
}

const contexts = new Places()
const deadlines = new Places()
const events = new Places()

/** An access ends after the event; all else was before it. */
const ofContext = (field: string): number => at + (field === "expiresAt" ? 1 : -2 * contexts.of(field)) * apartMs
const ofDeadline = (name: string): number => at - (2 * deadlines.of(name) + 1) * apartMs
const ofEvent = (field: string): number => at + 2 * events.of(field) * apartMs

const mapped = (fields: Fields, instantOf: (field: string, value: number) => number): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, isInstant(field, value) ? instantOf(field, value) : value])
  )

/** The same state with instants of their own. What a guard compares with an event stays comparable: the events are made for this state. */
export const apart = ({ value, context }: StoredSnapshot): StoredSnapshot => ({
  value,
  context: mapped(context as Fields, ofContext)
})

export const deadlinesApart = (present: Deadlines): Deadlines =>
  Object.fromEntries(Object.entries(present).map(([name, { event }]) => [name, { at: ofDeadline(name), event }]))

/** What an event repeats of the context (`idleStopAt`) stays. Fractions stay, too. */
export const eventApart = (event: AnyEvent, context: Fields): AnyEvent => {
  const moved = mapped(event, (field, value) => (context[field] === value ? value : ofEvent(field) + (value % 1)))
  const { until } = event as { readonly until?: number }
  return { ...event, ...moved, ...(until === undefined ? {} : { until: ofEvent("until") + (until % 1) }) }
}

type Named = readonly [name: string, instant: number]

const namedIn = (fields: Fields, prefix: string): ReadonlyArray<Named> =>
  Object.entries(fields).flatMap(([field, value]): ReadonlyArray<Named> => {
    const isOne = field === "at" || field === "until" || isInstant(field, value)
    return isOne ? [[`${prefix}${field}`, value as number]] : []
  })

/** Names of instants, those that come first preferred. */
export const instantsOf = (event: AnyEvent, context: Fields): ReadonlyArray<Named> => [
  ...namedIn(event, ""),
  ...namedIn(context, "its ")
]

/** Null: it is not near any of them. */
export const reading = (value: number, instants: ReadonlyArray<Named>): string | null => {
  const found = instants.find(([, instant]) => Math.abs(value - instant) < nearMs)
  if (found === undefined) return null
  const [name, instant] = found
  const more = value - instant
  return more === 0 ? name : `${name} ${more < 0 ? "-" : "+"} ${Math.abs(more)}`
}
