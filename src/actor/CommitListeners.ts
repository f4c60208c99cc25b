/** Who is told of an actor's commits in this process. */
import type { ActorState } from "./ActorDefinition.ts"

export type CommitListener = (state: ActorState) => void

export class CommitListeners {
  readonly #listeners = new Map<string, Set<CommitListener>>()
  readonly #failed: (actorId: string, defect: unknown) => void

  /** `failed` is told of a listener that threw: its fault is not the actor's. */
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
