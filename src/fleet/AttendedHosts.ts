/** Where whoever attends hosts in this process says so, and brings what they write to consoles. */
import { Context, Effect, Layer, PubSub, Stream } from "effect"
import type { ConsoleChunk } from "../runtime/Runtime.ts"
import { HostFeeds } from "./HostFeeds.ts"

/** Chunks that wait for whoever stores them: beyond them hosts wait. */
const consoleChunksMax = 1024

export class AttendedHosts extends Context.Service<
  AttendedHosts,
  {
    /** It is attended while this is done. */
    readonly attending: (hostId: string) => <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Waits while nobody takes them; not at all where nobody listens. */
    readonly wrote: (chunk: ConsoleChunk) => Effect.Effect<void>
  }
>()("atoll/fleet/AttendedHosts") {
  /** With the HostFeeds that tell of them. */
  static readonly layer = Layer.effectContext(
    Effect.gen(function* () {
      const console = yield* PubSub.bounded<ConsoleChunk>(consoleChunksMax)
      /** How often: who begins anew may begin before the former has ended. */
      const times = new Map<string, number>()
      const change = (hostId: string, by: number) => {
        const now = (times.get(hostId) ?? 0) + by
        if (now === 0) times.delete(hostId)
        else times.set(hostId, now)
      }
      const attended = AttendedHosts.of({
        attending: (hostId) => (work) =>
          Effect.acquireUseRelease(
            Effect.sync(() => change(hostId, 1)),
            () => work,
            () => Effect.sync(() => change(hostId, -1))
          ),
        wrote: (chunk) => Effect.asVoid(PubSub.publish(console, chunk))
      })
      const feeds = HostFeeds.of({
        attended: Effect.sync(() => [...times.keys()]),
        console: Stream.fromPubSub(console)
      })
      return Context.make(AttendedHosts, attended).pipe(Context.add(HostFeeds, feeds))
    })
  )
}
