/**
 * A set for members that enter and leave all the time. Each member stores its index; leaving swaps it with the last.
 *
 * A `Set` with many adds and deletes makes a new table every few dozen changes, and V8 links the old table to the new one. The first table
 * soon moves to the old generation, and then keeps the members of all later tables alive until the next full collection. With requests as
 * members, that was a fifth of their allocations, copied twice.
 */

export interface Member {
  /** Its index in the gathering; -1 outside. Only the gathering uses it. */
  place: number
}

export class Gathering<M extends Member> {
  readonly #members: Array<M> = []

  add(member: M): void {
    member.place = this.#members.push(member) - 1
  }

  /** Does nothing if the member has already left. */
  delete(member: M): void {
    const { place } = member
    if (place < 0) return
    member.place = -1
    const last = this.#members.pop()!
    if (last === member) return
    last.place = place
    this.#members[place] = last
  }

  /** A copy of the present members, in no order. */
  all(): ReadonlyArray<M> {
    return [...this.#members]
  }
}
