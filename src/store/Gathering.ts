/**
 * A set whose members come and go all the time; each knows its own place, and leaving is a swap with the last.
 *
 * A `Set` that is added to and deleted from makes a new table every few dozen changes, and V8 links the old one to the new. The first is
 * soon in the old generation, and from there all that stood in any later one is kept until the next full collection: with requests in
 * it, a fifth of what they allocate, and copied twice.
 */

export interface Member {
  /** In the gathering; -1 outside. Nobody else's business. */
  place: number
}

export class Gathering<M extends Member> {
  readonly #members: Array<M> = []

  add(member: M): void {
    member.place = this.#members.push(member) - 1
  }

  /** Does nothing when it has left before. */
  delete(member: M): void {
    const { place } = member
    if (place < 0) return
    member.place = -1
    const last = this.#members.pop()!
    if (last === member) return
    last.place = place
    this.#members[place] = last
  }

  /** Those who are there now, in no order. Whoever comes or goes meanwhile changes nothing of it. */
  all(): ReadonlyArray<M> {
    return [...this.#members]
  }
}
