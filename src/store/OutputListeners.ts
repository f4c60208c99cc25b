/** Who waits for what is stored of output, here and in the other processes of this database. */

/** The other processes of this database. */
export interface Others {
  readonly written: (ownerOrSandboxIds: ReadonlyArray<string>) => void
  /** Somebody here waits for what they store, or nobody any more. */
  readonly listening: (listens: boolean) => void
}

export class OutputListeners {
  readonly #listeners = new Map<string, Set<() => void>>()
  #others: Others | null = null

  add(id: string, listener: () => void): () => void {
    const set = this.#listeners.get(id) ?? new Set()
    set.add(listener)
    this.#listeners.set(id, set)
    this.#others?.listening(true)
    return () => {
      set.delete(listener)
      if (set.size === 0 && this.#listeners.get(id) === set) this.#listeners.delete(id)
      if (this.#listeners.size === 0) this.#others?.listening(false)
    }
  }

  /** Bytes of these owners and Sandboxes were stored here. */
  tell(ids: ReadonlySet<string>): void {
    this.#call(ids)
    this.#others?.written([...ids])
  }

  /** Another process stored bytes; null: of any owner. */
  tellHere(ids: ReadonlyArray<string> | null): void {
    this.#call(ids ?? this.#listeners.keys())
  }

  meet(others: Others): () => void {
    this.#others = others
    if (this.#listeners.size > 0) others.listening(true)
    return () => {
      this.#others = null
    }
  }

  #call(ids: Iterable<string>): void {
    for (const id of ids) for (const listener of this.#listeners.get(id) ?? []) listener()
  }
}
