/** Events of the hosts that this process supervises: the process that owns a host's actor supervises the host. */
import { Context, type Effect, type Stream } from "effect"
import type { ConsoleChunk } from "../runtime/Runtime.ts"

export class HostFeeds extends Context.Service<
  HostFeeds,
  {
    /** Ids of the supervised hosts. */
    readonly supervised: Effect.Effect<ReadonlyArray<string>>
    readonly console: Stream.Stream<ConsoleChunk>
  }
>()("atoll/fleet/HostFeeds") {}
