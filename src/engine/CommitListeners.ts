/** Listeners to the commits of actors in this process. */
import type { ActorState } from "./ActorDefinition.ts"

export type CommitListener = (state: ActorState) => void

export class CommitListeners {
  readonly #listeners = new Map<string, Set<CommitListener>>()
  readonly #failed: (actorId: string, defect: unknown) => void

  /** `failed` is called if a listener throws: that is not the actor's error. */
  constructor(failed: (actorId: string, defect: unknown) => void) {
    this.#failed = failed
  }

  add(actorId: string, listener: CommitListener): void {
    const listeners = this.#listeners.get(actorId) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(actorId, listeners)
  }

  remove(actorId: string, listener: CommitListener): void {
    const listeners = this.#listeners.get(actorId)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(actorId)
  }

  tell(state: ActorState): void {
    const listeners = this.#listeners.get(state.id)
    if (listeners === undefined) return
    for (const listener of listeners) {
      try {
        listener(state)
      } catch (defect) {
        this.#failed(state.id, defect)
      }
    }
  }
}
