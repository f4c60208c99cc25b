/**
 * Whether this process surely holds its database alone. While it does, no other process changes an actor, so what it committed last need not be asked for.
 *
 * Like a leader's lease: it is sure for a time after the session that holds the claim answered, and the next process to claim the database commits
 * nothing for longer than that (`DatabaseClaim.ts`). A process that was frozen, or cut off, finds the time over before it answers from memory.
 */
import { Context, Latch } from "effect"

/** How long the next claimant waits, unless this process left or is dead. */
export const soleWaitMs = 1000
/** Less: clocks run at slightly different speeds. */
const sureMs = 900

export class SoleOwner {
  #epoch = 1
  /** Two clocks: the monotonic one stands still while a machine sleeps, the other one may be set back. */
  #sureUntil = { monotonic: 0, wall: 0 }
  /** Open once a read wants the claim confirmed again. */
  readonly wanted = Latch.makeUnsafe(false)
  /** The last committed revision of an actor that this process has in memory, with no commit on its way; else null. */
  revisionOf: (id: string) => number | null = () => null
  /** Loads an actor into memory. */
  awaken: (kind: string, id: string) => void = () => {}

  /** A new number when another process may have changed actors since the last claim. */
  get epoch(): number {
    return this.#epoch
  }

  isSure(): boolean {
    const { monotonic, wall } = this.#sureUntil
    const leftMs = Math.min(monotonic - performance.now(), wall - Date.now())
    if (leftMs < sureMs / 2) this.wanted.openUnsafe()
    return leftMs > 0
  }

  /** The session that holds the claim has answered. @param asked Before it was asked. */
  confirmed(asked: { readonly monotonic: number; readonly wall: number }): void {
    this.#sureUntil = { monotonic: asked.monotonic + sureMs, wall: asked.wall + sureMs }
  }

  /** Another process may have held the claim since. */
  overtaken(): void {
    this.#epoch++
  }

  lost(): void {
    this.#sureUntil = { monotonic: 0, wall: 0 }
  }

  static now(): { readonly monotonic: number; readonly wall: number } {
    return { monotonic: performance.now(), wall: Date.now() }
  }
}

/** One that is never sure, in a process that shares its database or made no claim. */
export const SoleOwnership = Context.Reference<SoleOwner>("atoll/store/SoleOwnership", {
  defaultValue: () => new SoleOwner()
})

export interface Claimant {
  /** Names this process among all that ever were, on any host. */
  readonly name: string
  /** Whether that process has surely ended. */
  readonly isDead: (name: string) => boolean
}

/** Without it, each claim after a process that was killed waits. */
export const ThisClaimant = Context.Reference<Claimant>("atoll/store/ThisClaimant", {
  defaultValue: () => ({ name: `unknown ${crypto.randomUUID()}`, isDead: () => false })
})
