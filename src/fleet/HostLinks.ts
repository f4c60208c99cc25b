/** The ways of this service to the hosts of its fleet: each is a `Runtime`, near or far. */
import { Context, type Effect } from "effect"
import type { Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"

export class HostLinks extends Context.Service<
  HostLinks,
  {
    /**
     * That host's runtime. Cheap: connections are kept, and made anew where the host has another address by now. Its calls fail with
     * `RuntimeUnavailable` (a guest's with `GuestUnavailable`) while the host does not answer.
     */
    readonly to: (hostId: string) => Effect.Effect<Runtime["Service"], RuntimeUnavailable>
  }
>()("atoll/fleet/HostLinks") {}
