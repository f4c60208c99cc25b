/**
 * Receives the reports of a host: runtimes that ended or stalled, and console output.
 *
 * A host is trusted only about its own Sandboxes: reports about others are ignored.
 */
import { Effect, Stream } from "effect"
import type { Runtime, RuntimeStall } from "../runtime/Runtime.ts"
import type { Hearing } from "../sandbox/Hearing.ts"
import type { RuntimeNews } from "../sandbox/RuntimeNews.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import type { HostSandboxes } from "./hostSandboxes.ts"
import type { SupervisedHosts } from "./SupervisedHosts.ts"

/** Size of the cache of settled Sandboxes. */
const residentsMax = 10_000
/** Each report about another host's Sandbox costs a query, so such reports are handled slowly. */
const strangerMs = 20
/** Each stall, and each end of a stall, is a transition; a flapping Sandbox is reported at this interval. */
const stallEveryMs = 1_000

interface Receivers {
  readonly sandboxes: HostSandboxes
  readonly news: RuntimeNews
  readonly hearing: Hearing
  readonly supervised: SupervisedHosts["Service"]
}

/** A report about a Sandbox that lives elsewhere is a mistake or a lie. */
const residents = (sandboxes: HostSandboxes) => {
  const known = new BoundedMap<string, true>(residentsMax)
  return (sandboxId: string) =>
    known.get(sandboxId) === true
      ? Effect.succeed(true)
      : Effect.map(Effect.orDie(sandboxes.resident(sandboxId)), (resident) => {
          if (resident?.isSettled === true) known.set(sandboxId, true)
          return resident !== null
        })
}

/** Returns the effect that receives the reports of one connection to the host, until it is interrupted. */
export const hostReports = (hostId: string, { sandboxes, news, hearing, supervised }: Receivers) => {
  const isResident = residents(sandboxes)

  const ofResidents = <A extends { readonly sandboxId: string }>(
    said: Stream.Stream<A>,
    hear: (one: A) => Effect.Effect<void, unknown>
  ) =>
    said.pipe(
      Stream.runForEach((one) =>
        Effect.flatMap(isResident(one.sandboxId), (is) => (is ? hear(one) : Effect.sleep(strangerMs))).pipe(
          Effect.catchCause((cause) => Effect.logError(`What ${hostId} said of ${one.sandboxId} was lost`, cause))
        )
      ),
      // A runtime without such reports has an empty stream.
      Effect.andThen(Effect.never)
    )

  /** When the next stall of each Sandbox may be reported, by `performance.now()`. */
  const stallsAt = new BoundedMap<string, number>(residentsMax)
  const stalled = Effect.fnUntraced(function* (stall: RuntimeStall) {
    const now = performance.now()
    const at = Math.max(now, stallsAt.get(stall.sandboxId) ?? 0)
    stallsAt.set(stall.sandboxId, at + stallEveryMs)
    if (at > now) yield* Effect.sleep(at - now)
    yield* news.stall(stall)
  })

  return (runtime: Runtime["Service"]) =>
    Effect.all(
      [
        ofResidents(runtime.downs, ({ sandboxId, generation, reason }) =>
          news.down(sandboxId, generation, reason, hearing.seenAt())
        ),
        ofResidents(runtime.stalls, stalled),
        ofResidents(runtime.console, supervised.wrote)
      ],
      { concurrency: "unbounded", discard: true }
    )
}
