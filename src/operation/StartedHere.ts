/**
 * What this process knows of the operations that it started, so that it need not ask the database. It is forgotten with the process, and
 * bounded; who finds nothing here asks.
 */
import { BoundedMap } from "../store/BoundedMap.ts"

/** More than run in one process at an instant. */
const max = 10_000

export class StartedHere {
  readonly #started = new BoundedMap<string, { readonly hasSecrets: boolean; isFollowed: boolean }>(max)

  /** The guest has been asked to start it. `hasSecrets`: it was given an environment or input. */
  note(operationId: string, hasSecrets: boolean): void {
    if (this.#started.get(operationId) === undefined) this.#started.set(operationId, { hasSecrets, isFollowed: false })
  }

  /** True once, for the first follower in the process that started it: nothing of its output is stored yet. */
  isFirstFollow(operationId: string): boolean {
    const started = this.#started.get(operationId)
    if (started === undefined || started.isFollowed) return false
    started.isFollowed = true
    return true
  }

  /** True if it is known to have none. */
  hasNoSecrets(operationId: string): boolean {
    return this.#started.get(operationId)?.hasSecrets === false
  }

  /** The same. Forgets the operation. */
  endsWithoutSecrets(operationId: string): boolean {
    const started = this.#started.get(operationId)
    this.#started.delete(operationId)
    return started?.hasSecrets === false
  }
}
