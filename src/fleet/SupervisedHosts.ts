/** The host supervisors of this process register here and pass on the console output of their hosts. */
import { Context, Effect, Layer, PubSub, Stream } from "effect"
import type { ConsoleChunk } from "../runtime/Runtime.ts"
import { HostFeeds } from "./HostFeeds.ts"

/** Capacity for chunks that wait to be stored. When it is full, hosts wait. */
const consoleChunksMax = 1024

export class SupervisedHosts extends Context.Service<
  SupervisedHosts,
  {
    /** Marks the host as supervised while `work` runs. */
    readonly supervising: (hostId: string) => <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Waits for room in the queue; without a subscriber it does not wait. */
    readonly wrote: (chunk: ConsoleChunk) => Effect.Effect<void>
  }
>()("atoll/fleet/SupervisedHosts") {
  /** Includes the HostFeeds of these hosts. */
  static readonly layer = Layer.effectContext(
    Effect.gen(function* () {
      const console = yield* PubSub.bounded<ConsoleChunk>(consoleChunksMax)
      /** Supervisors for each host: a new one may begin before the former has ended. */
      const times = new Map<string, number>()
      const change = (hostId: string, by: number) => {
        const now = (times.get(hostId) ?? 0) + by
        if (now === 0) times.delete(hostId)
        else times.set(hostId, now)
      }
      const supervised = SupervisedHosts.of({
        supervising: (hostId) => (work) =>
          Effect.acquireUseRelease(
            Effect.sync(() => change(hostId, 1)),
            () => work,
            () => Effect.sync(() => change(hostId, -1))
          ),
        wrote: (chunk) => Effect.asVoid(PubSub.publish(console, chunk))
      })
      const feeds = HostFeeds.of({
        supervised: Effect.sync(() => [...times.keys()]),
        console: Stream.fromPubSub(console)
      })
      return Context.make(SupervisedHosts, supervised).pipe(Context.add(HostFeeds, feeds))
    })
  )
}
