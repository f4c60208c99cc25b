/** Connections of this service to the hosts of its fleet. Each is a `Runtime`, local or remote. */
import { Context, type Effect } from "effect"
import type { Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"

export class HostLinks extends Context.Service<
  HostLinks,
  {
    /**
     * That host's runtime. Cheap: connections are kept, and replaced if the host's address has changed. Its calls fail with
     * `RuntimeUnavailable` (a guest's with `GuestUnavailable`) while the host does not answer.
     */
    readonly to: (hostId: string) => Effect.Effect<Runtime["Service"], RuntimeUnavailable>
  }
>()("atoll/fleet/HostLinks") {}
