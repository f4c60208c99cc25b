/** The permits that this process holds, counted in memory: it takes and releases them without a statement. */
import type { Latch } from "effect"

export interface Bound {
  /** As "streams acc_…". */
  readonly subject: string
  readonly most: number
}

/** Releases the permits; further calls do nothing. */
export type Release = () => void

/** A process takes at least this share of the bound at a time. */
const sharesOfAll = 64

interface Permits {
  most: number
  inUse: number
  /** The most in use, or wanted, since the last check, and between the two before. */
  peak: number
  peakBefore: number
  /** Permits that this process may hand out. */
  mine: number
  /** The same number, as stored in the database. */
  stored: number
  /** Requested beyond those in use. */
  asked: number
}

/** What this process wants of one subject. */
export interface PermitRequest {
  readonly subject: string
  readonly wanted: number
  readonly inUse: number
  readonly most: number
}

/** The number of permits that a process has of one subject. */
export interface PermitCount {
  readonly subject: string
  readonly permits: number
}

export class HeldPermits {
  readonly #isAlone: boolean
  readonly #some: Latch.Latch
  readonly #bySubject = new Map<string, Permits>()
  /** Null: the process is not registered in the database. */
  #processId: string | null = null

  /**
   * @param isAlone No other process takes permits, so each bound is this process's own.
   * @param some Opened when there are permits to look after, closed when there are none.
   */
  constructor(isAlone: boolean, some: Latch.Latch) {
    this.#isAlone = isAlone
    this.#some = some
  }

  #of({ subject, most }: Bound): Permits {
    const found = this.#bySubject.get(subject)
    if (found !== undefined) {
      found.most = most
      return found
    }
    const fresh = { most, inUse: 0, peak: 0, peakBefore: 0, mine: 0, stored: 0, asked: 0 }
    this.#bySubject.set(subject, fresh)
    if (!this.#isAlone) this.#some.openUnsafe()
    return fresh
  }

  /** Takes one permit of each bound; null if one of them has none free. */
  take(bounds: ReadonlyArray<Bound>): Release | null {
    for (const bound of bounds) {
      const { inUse, mine, most } = this.#of(bound)
      if (inUse >= (this.#isAlone ? most : mine)) return null
    }
    for (const bound of bounds) {
      const permits = this.#bySubject.get(bound.subject)!
      permits.peak = Math.max(permits.peak, ++permits.inUse)
    }
    let isTaken = true
    return () => {
      if (isTaken) for (const bound of bounds) this.#release(bound)
      isTaken = false
    }
  }

  #release({ subject }: Bound): void {
    const permits = this.#bySubject.get(subject)!
    permits.inUse--
    if (this.#isAlone && permits.inUse === 0) this.#bySubject.delete(subject)
  }

  /** Whether `take` would fail for one of the next `many` calls. */
  lacks(bounds: ReadonlyArray<Bound>, many: number): boolean {
    return bounds.some((bound) => isShort(this.#of(bound), many))
  }

  /** Asks for `many` permits more of each subject that has not so many free. */
  ask(bounds: ReadonlyArray<Bound>, many: number): void {
    for (const bound of bounds) {
      const permits = this.#of(bound)
      if (isShort(permits, many)) permits.asked += many
    }
  }

  /** What was asked for since the last call, in the order in which all processes lock the subjects. */
  takeRequests(): ReadonlyArray<PermitRequest> {
    return [...this.#bySubject]
      .filter(([, { asked }]) => asked > 0)
      .map(([subject, permits]) => {
        const { inUse, most, mine, asked } = permits
        const share = Math.floor(most / sharesOfAll)
        permits.asked = 0
        permits.peak = Math.max(permits.peak, Math.min(most, inUse + asked))
        return { subject, inUse, most, wanted: Math.max(mine, Math.min(most, inUse + asked + share)) }
      })
      .sort((a, b) => (a.subject < b.subject ? -1 : 1))
  }

  /** The database granted these. @param processId Null: it does not know this process, and stored nothing. */
  grant(granted: ReadonlyArray<PermitCount>, processId: string | null): void {
    this.#registeredAs(processId)
    for (const { subject, permits } of granted) {
      const held = this.#bySubject.get(subject)!
      held.mine = permits
      held.stored = processId === null ? 0 : permits
    }
  }

  /** Gives up the permits that were unused since the last call and between the two before. Returns whether subjects remain. */
  giveUpUnused(): boolean {
    for (const [subject, permits] of this.#bySubject) {
      permits.mine = Math.min(permits.mine, Math.max(permits.inUse, permits.peak, permits.peakBefore))
      permits.peakBefore = permits.peak
      permits.peak = permits.inUse
      if (permits.mine === 0 && permits.stored === 0 && permits.asked === 0) this.#bySubject.delete(subject)
    }
    if (this.#bySubject.size === 0) this.#some.closeUnsafe()
    return this.#bySubject.size > 0
  }

  /** Counts that the database has otherwise. */
  unstored(): ReadonlyArray<PermitCount> {
    return [...this.#bySubject]
      .filter(([, { mine, stored }]) => mine !== stored)
      .map(([subject, { mine }]) => ({ subject, permits: mine }))
  }

  /** The database has these counts now. @param processId Null: it does not know this process, and stored nothing. */
  noteStored(counts: ReadonlyArray<PermitCount>, processId: string | null): void {
    this.#registeredAs(processId)
    if (processId === null) return
    for (const { subject, permits } of counts) this.#bySubject.get(subject)!.stored = permits
  }

  /** Under a new id the database stores nothing yet. */
  #registeredAs(processId: string | null): void {
    if (processId === this.#processId) return
    this.#processId = processId
    for (const permits of this.#bySubject.values()) permits.stored = 0
  }
}

const isShort = ({ inUse, mine }: Permits, many: number): boolean => inUse + many > mine
