/** What all actors and hosts are at one moment, as the exploration, the races and the crashes see it; and what an invariant over it is. */

export interface ActorFact {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly tags: ReadonlySet<string>
  // biome-ignore lint/suspicious/noExplicitAny: kinds differ in their contexts.
  readonly context: any
  /** Its pending commands. */
  readonly commands: ReadonlyArray<{ readonly type: string; readonly params?: unknown }>
}

/** Only Sandboxes have `kind` "sandbox"; all that lives in one names it in its context. */
export interface Moment {
  readonly actors: ReadonlyArray<ActorFact>
}

/** A rule of every moment. `broken`: null, or what breaks it. */
export interface MomentInvariant {
  readonly sentence: string
  readonly broken: (moment: Moment) => string | null
}

/** A rule of two moments, of which the second is later; with an actor absent from one of them, nothing is compared. */
export interface ChangeInvariant {
  readonly sentence: string
  readonly broken: (before: ActorFact, after: ActorFact) => string | null
}

/** The first answer of an actor that is not null. */
export const firstOf = (moment: Moment, look: (actor: ActorFact) => string | null): string | null => {
  for (const actor of moment.actors) {
    const found = look(actor)
    if (found !== null) return found
  }
  return null
}

export const changesBetween = (before: Moment, after: Moment, { broken }: ChangeInvariant): string | null => {
  for (const later of after.actors) {
    const earlier = before.actors.find(({ id }) => id === later.id)
    if (earlier === undefined || earlier === later || earlier.kind !== later.kind) continue
    const found = broken(earlier, later)
    if (found !== null) return found
  }
  return null
}
