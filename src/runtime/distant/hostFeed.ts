/** A stream of a host that never ends: it is requested again whenever it breaks off. */
import { Effect, Schedule, Stream } from "effect"
import { connectPeerRpcs } from "../../peer/PeerRpc.ts"
import { type PeerPlace, PeerSockets } from "../../peer/PeerSockets.ts"
import { type HostClient, HostRpcs } from "./HostRpcs.ts"

/** A broken stream is requested again soon; one that the host ended belongs to another service now. */
const AGAIN = "500 millis"
const ANOTHERS = "5 seconds"

interface FeedSource {
  readonly hostId: string
  readonly to: PeerPlace
  readonly sockets: PeerSockets["Service"]
}

/** Uses a separate connection, so that a slow consumer delays no call. */
export const hostFeed = <A, E>(
  { hostId, to, sockets }: FeedSource,
  name: string,
  ask: (by: HostClient) => Stream.Stream<A, E>
): Stream.Stream<A> => {
  const once = Stream.unwrap(
    Effect.map(connectPeerRpcs(HostRpcs, to, "atoll-host/1"), (by) => Stream.orDie(ask(by)))
  ).pipe(Stream.provideService(PeerSockets, sockets))
  const pause = (duration: typeof AGAIN | typeof ANOTHERS) => Stream.fromEffectDrain(Effect.sleep(duration))
  return Stream.concat(once, pause(ANOTHERS)).pipe(
    Stream.catchCause((cause) =>
      Stream.concat(Stream.fromEffectDrain(Effect.logDebug(`The ${name} of ${hostId} broke off`, cause)), pause(AGAIN))
    ),
    Stream.repeat(Schedule.forever)
  )
}
