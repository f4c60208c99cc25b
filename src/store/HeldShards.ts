/** What this process knows of its lease and its shards, by its monotonic clock: the lease counts from before the database was asked. */
export class HeldShards {
  readonly #leaseMs: number
  #heldUntil = 0
  /** The epoch of each held shard. */
  readonly #held = new Map<string, number>()
  #epochs = 0
  /** By shard: when it was asked for last. */
  #askedAt = new Map<string, number>()

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  get isLeased(): boolean {
    return performance.now() < this.#heldUntil
  }

  has(shard: string): boolean {
    return this.#held.has(shard)
  }

  epochOf(shard: string): number {
    return this.#held.get(shard) ?? 0
  }

  /** The process has joined, without shards. @param asked By `performance.now()`: when it asked for that. */
  joined(asked: number): void {
    this.#held.clear()
    this.#heldUntil = asked + this.#leaseMs
  }

  /** Drops the shards that the caller does not name and did not just ask for. Returns the rest, named or asked for. */
  keep(shards: ReadonlyArray<string>): ReadonlyArray<string> {
    const kept = [...shards, ...this.#justAsked()]
    for (const shard of this.#held.keys()) if (!kept.includes(shard)) this.#held.delete(shard)
    return kept
  }

  /** Shards requested so recently that the caller may hold them without having said so. */
  #justAsked(): ReadonlyArray<string> {
    const before = performance.now() - this.#leaseMs
    this.#askedAt = new Map([...this.#askedAt].filter(([, at]) => at >= before))
    return [...this.#askedAt.keys()]
  }

  /** @param isRegistered False: another process has removed this one. @param ours Of the shards, those that the database still has as ours. */
  renewed(asked: number, isRegistered: boolean, shards: ReadonlyArray<string>, ours: ReadonlyArray<string>): void {
    this.#heldUntil = isRegistered ? asked + this.#leaseMs : 0
    for (const shard of shards) if (!ours.includes(shard)) this.#held.delete(shard)
  }

  ask(shards: ReadonlyArray<string>): void {
    for (const shard of shards) this.#askedAt.set(shard, performance.now())
  }

  /** A shard that was not held begins a new epoch. */
  taken(shards: ReadonlyArray<string>): void {
    for (const shard of shards) if (!this.#held.has(shard)) this.#held.set(shard, ++this.#epochs)
  }

  release(shard: string): void {
    this.#held.delete(shard)
  }

  releaseAll(): void {
    this.#held.clear()
  }
}
