/** Copies what only one host has to other hosts: its uploaded images, and its snapshots. */
import { Effect, Semaphore } from "effect"
import { ImageCopies } from "./ImageCopies.ts"
import type { LeavingImage } from "./imagesOnlyHere.ts"
import { Reservations } from "./Reservations.ts"
import { SnapshotCopies } from "./SnapshotCopies.ts"
import type { LeavingSnapshot } from "./snapshotsOnlyHere.ts"

/** Of all transfers of a process: boots do not wait for those of drained hosts. */
const parallelMax = 1
const batch = 100

/** What is copied in the same way. */
interface Kind<Item> {
  /** Several of them, for the log. */
  readonly name: string
  /** Those that only this host has: the next ones after `after`. */
  readonly leaving: (hostId: string, after: Item | null, limit: number) => Effect.Effect<ReadonlyArray<Item>>
  /** Hosts that may take it, the best first. */
  readonly takers: (item: Item) => Effect.Effect<ReadonlyArray<string>>
  readonly bring: (item: Item, hostId: string) => Effect.Effect<void, unknown>
}

export interface LeftKind {
  readonly name: string
  /** How many no host took. */
  readonly stayed: number
  /** How many have a copy now. */
  readonly left: number
}

export type LeaveHost = Effect.Success<typeof leaveHost>

const snapshotsOfHost = Effect.gen(function* () {
  const copies = yield* SnapshotCopies
  const { hostsWithDisk } = yield* Reservations
  return {
    name: "snapshots",
    leaving: copies.leaving,
    takers: Effect.fnUntraced(function* ({ id, kind, sizeBytes }) {
      const begun = yield* copies.begun(id)
      const isNew = (hostId: string) => Number(!begun.includes(hostId))
      // What an earlier try left is completed first.
      return (yield* hostsWithDisk(kind, sizeBytes)).toSorted((one, other) => isNew(one) - isNew(other))
    }),
    bring: ({ id }, hostId) => copies.bring(id, hostId)
  } satisfies Kind<LeavingSnapshot>
})

const imagesOfHost = Effect.gen(function* () {
  const copies = yield* ImageCopies
  return {
    name: "uploaded images",
    leaving: copies.leaving,
    takers: () => copies.takers,
    bring: ({ digest }, hostId) => copies.bring(digest, hostId)
  } satisfies Kind<LeavingImage>
})

export const leaveHost = Effect.gen(function* () {
  const leaving = Semaphore.makeUnsafe(parallelMax)

  /** One after the other, while `goesOn`. */
  const leaveAll =
    <Item>({ name, leaving: next, takers, bring }: Kind<Item>) =>
    (hostId: string, goesOn: () => boolean): Effect.Effect<LeftKind> =>
      Effect.gen(function* () {
        /** False: no host took it now. */
        const leave = Effect.fnUntraced(function* (item: Item) {
          for (const taker of yield* takers(item)) {
            if (yield* Effect.match(bring(item, taker), { onSuccess: () => true, onFailure: () => false })) return true
          }
          return false
        })
        let after: Item | null = null
        let [stayed, left] = [0, 0]
        while (goesOn()) {
          const found: ReadonlyArray<Item> = yield* next(hostId, after, batch)
          for (const item of found) {
            if (!goesOn()) break
            if (yield* leaving.withPermits(1)(leave(item))) left++
            else stayed++
          }
          after = found.at(-1) ?? null
          if (found.length < batch) break
        }
        return { name, stayed, left }
      })

  // Images first: they are few, and Sandboxes of the snapshots need them.
  const kinds = [leaveAll(yield* imagesOfHost), leaveAll(yield* snapshotsOfHost)]

  return (hostId: string, goesOn: () => boolean) => Effect.forEach(kinds, (leave) => leave(hostId, goesOn))
})
