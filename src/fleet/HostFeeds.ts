/** What the hosts tell of their Sandboxes that this process attends: each host is attended by the process that has its actor. */
import { Context, type Effect, type Stream } from "effect"
import type { ConsoleChunk } from "../runtime/Runtime.ts"

export class HostFeeds extends Context.Service<
  HostFeeds,
  {
    /** Their ids. */
    readonly attended: Effect.Effect<ReadonlyArray<string>>
    readonly console: Stream.Stream<ConsoleChunk>
  }
>()("atoll/fleet/HostFeeds") {}
