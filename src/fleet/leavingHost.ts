/** Copies the uploaded images and the snapshots of a host that is drained to other hosts, so that it can be removed without a loss. */
import { Effect } from "effect"
import type { LeaveHost, LeftKind } from "./leaveHost.ts"

/** Interval of looks whether the host is drained, and whether there is something new. */
const lookEveryMs = 1_000
/** Pauses after passes in which no host took anything: each is twice as long. */
const pauseMs = { least: 5_000, most: 300_000 }

const sum = (counts: ReadonlyArray<number>): number => counts.reduce((total, count) => total + count, 0)

/** Runs while the host is supervised. */
export const leavingHost = (hostId: string, isDrained: () => boolean, leave: LeaveHost) =>
  Effect.gen(function* () {
    const stuck = new Map<string, number>()
    let [pausedMs, leftMs] = [0, 0]

    const note = Effect.fnUntraced(function* ({ name, stayed, left }: LeftKind) {
      if (left > 0) yield* Effect.logInfo(`${left} ${name} of the host ${hostId} have a copy elsewhere now`)
      if (stayed > 0 && stayed !== stuck.get(name)) {
        yield* Effect.logWarning(`No other host took ${stayed} ${name} of the host ${hostId}; it will be retried`)
      }
      stuck.set(name, stayed)
    })

    while (true) {
      yield* Effect.sleep(lookEveryMs)
      leftMs = isDrained() ? leftMs - lookEveryMs : 0
      if (!isDrained() || leftMs > 0) continue
      const pass = yield* leave(hostId, isDrained)
      yield* Effect.forEach(pass, note, { discard: true })
      const isStuck = sum(pass.map(({ stayed }) => stayed)) > 0 && sum(pass.map(({ left }) => left)) === 0
      pausedMs = isStuck ? Math.min(Math.max(2 * pausedMs, pauseMs.least), pauseMs.most) : 0
      leftMs = pausedMs
    }
  })
