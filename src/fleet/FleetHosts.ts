/** The hosts of a service's fleet, put together: below the actors, the ways to them; among the actors, themselves. */
import { Layer } from "effect"
import { AttendedHosts } from "./AttendedHosts.ts"
import { HostActors } from "./HostActors.ts"
import { HostBoots } from "./HostBoots.ts"
import { HostJoins } from "./HostJoins.ts"
import { type Dial, hostLinksLayer } from "./HostLinksLive.ts"
import { hostReachLayer } from "./HostReach.ts"
import { HostWishes } from "./HostWishes.ts"

export const FleetHosts = {
  /** HostLinks and HostFeeds, and what brings to them; HostReach. */
  ways: <R>(dial: Dial<R>) =>
    hostReachLayer.pipe(
      Layer.provideMerge(hostLinksLayer(dial)),
      Layer.provideMerge(Layer.merge(HostBoots.layer, AttendedHosts.layer))
    ),
  /** Their kind of actors. Hosts may join once it is there. */
  actors: HostWishes.layer.pipe(Layer.provideMerge(HostJoins.layer), Layer.provideMerge(HostActors.layer))
}
