/** The layers of a service's hosts: the connections to them, below the actors, and their own actors. */
import { Layer } from "effect"
import { HostActors } from "./HostActors.ts"
import { HostBoots } from "./HostBoots.ts"
import { HostJoins } from "./HostJoins.ts"
import { type Dial, hostLinksLayer } from "./HostLinksLive.ts"
import { hostReachLayer } from "./HostReach.ts"
import { HostWishes } from "./HostWishes.ts"
import { SupervisedHosts } from "./SupervisedHosts.ts"

export const FleetHosts = {
  /** HostLinks, HostFeeds and HostReach, with what they need. */
  ways: <R>(dial: Dial<R>) =>
    hostReachLayer.pipe(
      Layer.provideMerge(hostLinksLayer(dial)),
      Layer.provideMerge(Layer.merge(HostBoots.layer, SupervisedHosts.layer))
    ),
  /** The actor kind of hosts. Hosts may join once it is registered. */
  actors: HostWishes.layer.pipe(Layer.provideMerge(HostJoins.layer), Layer.provideMerge(HostActors.layer))
}
