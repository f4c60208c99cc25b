/** Copies the snapshots that only one host has to other hosts. */
import { Effect, Semaphore } from "effect"
import { Reservations } from "./Reservations.ts"
import { SnapshotCopies } from "./SnapshotCopies.ts"
import type { LeavingSnapshot } from "./snapshotsOnlyHere.ts"

/** Of all transfers of a process: boots do not wait for those of drained hosts. */
const parallelMax = 1
const batch = 100

export type LeaveHost = Effect.Success<typeof leaveHost>

export const leaveHost = Effect.gen(function* () {
  const copies = yield* SnapshotCopies
  const { hostsWithDisk } = yield* Reservations
  const leaving = Semaphore.makeUnsafe(parallelMax)

  /** False: no host took it now. */
  const leave = Effect.fnUntraced(function* ({ id, kind, sizeBytes }: LeavingSnapshot) {
    const begun = yield* copies.begun(id)
    const isNew = (hostId: string) => Number(!begun.includes(hostId))
    // What an earlier try left is completed first.
    const withRoom = (yield* hostsWithDisk(kind, sizeBytes)).toSorted((one, other) => isNew(one) - isNew(other))
    for (const hostId of withRoom) {
      if (yield* Effect.match(copies.bring(id, hostId), { onSuccess: () => true, onFailure: () => false })) return true
    }
    return false
  })

  /** One after the other, oldest first, while `goesOn`. Returns how many no host took, and how many have a copy now. */
  return Effect.fnUntraced(function* (hostId: string, goesOn: () => boolean) {
    let after: LeavingSnapshot | null = null
    let [stayed, left] = [0, 0]
    while (goesOn()) {
      const found: ReadonlyArray<LeavingSnapshot> = yield* copies.leaving(hostId, after, batch)
      for (const snapshot of found) {
        if (!goesOn()) break
        if (yield* leaving.withPermits(1)(leave(snapshot))) left++
        else stayed++
      }
      after = found.at(-1) ?? null
      if (found.length < batch) break
    }
    return { stayed, left }
  })
})
