/** Copies the snapshots of a host that is drained to other hosts, so that it can be removed without a loss. */
import { Effect } from "effect"
import type { LeaveHost } from "./leaveHost.ts"

/** Interval of looks whether the host is drained, and whether there are new snapshots. */
const lookEveryMs = 1_000
/** Pauses after passes in which no host took one: each is twice as long. */
const pauseMs = { least: 5_000, most: 300_000 }

/** Runs while the host is supervised. */
export const leavingHost = (hostId: string, isDrained: () => boolean, leave: LeaveHost) =>
  Effect.gen(function* () {
    let [stayed, pausedMs, leftMs] = [0, 0, 0]
    while (true) {
      yield* Effect.sleep(lookEveryMs)
      leftMs = isDrained() ? leftMs - lookEveryMs : 0
      if (!isDrained() || leftMs > 0) continue
      const pass = yield* leave(hostId, isDrained)
      if (pass.left > 0) yield* Effect.logInfo(`${pass.left} snapshots of the host ${hostId} have a copy elsewhere now`)
      if (pass.stayed > 0 && pass.stayed !== stayed) {
        yield* Effect.logWarning(
          `No other host took ${pass.stayed} snapshots of the host ${hostId}; it will be retried`
        )
      }
      stayed = pass.stayed
      const isStuck = stayed > 0 && pass.left === 0
      pausedMs = isStuck ? Math.min(Math.max(2 * pausedMs, pauseMs.least), pauseMs.most) : 0
      leftMs = pausedMs
    }
  })
