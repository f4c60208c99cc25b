/** Serves a host's runtime to the services of its fleet: its calls (`HostRpcs`), the byte streams of its agents, and the content of its snapshots. */

import type { TLSSocket } from "node:tls"
import { Effect, Queue, type Scope, Stream } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { peerRpcServer } from "../../peer/PeerRpc.ts"
import { worker } from "../../platform/worker/Worker.ts"
import type { HostDescription } from "../../runtime/distant/HostDescription.ts"
import { HostRpcs } from "../../runtime/distant/HostRpcs.ts"
import { type Runtime, RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { agentIngress } from "./agentIngress.ts"
import { consoleFeed } from "./ConsoleFeed.ts"
import { LatestFeed } from "./LatestFeed.ts"
import { snapshotIngress } from "./snapshotIngress.ts"

export interface HostDoorsOptions {
  readonly runtime: Runtime["Service"]
  readonly hostId: string
  /** The current description. */
  readonly describe: Effect.Effect<HostDescription, RuntimeUnavailable>
}

interface HostDoors {
  readonly "atoll-host/1": (socket: TLSSocket) => void
  readonly "atoll-agent/1": (socket: TLSSocket) => void
  readonly "atoll-snapshot/1": (socket: TLSSocket) => void
}

/** For `PeerSockets.listen`. Consumes the runtime's streams. */
export const serveHost = ({
  runtime,
  hostId,
  describe
}: HostDoorsOptions): Effect.Effect<HostDoors, never, Scope.Scope> =>
  Effect.gen(function* () {
    const feeds = yield* feedsOf(runtime)
    const handlers = HostRpcs.toLayer(handlersOf(runtime, feeds, hostId, describe))
    return {
      "atoll-host/1": yield* Effect.provide(peerRpcServer(HostRpcs), handlers),
      "atoll-agent/1": yield* agentIngress(runtime, hostId),
      "atoll-snapshot/1": yield* snapshotIngress(runtime, hostId)
    }
  })

/** How many destroyed Sandboxes are remembered. */
const destroyedMax = 10_000

/**
 * Refuses to boot a Sandbox that was destroyed here, also for a late request from a service that was frozen or cut off: a Sandbox that never came up
 * here may run on another host since. The memory lasts as long as this process, and so as long as every connection on which such a request could
 * arrive.
 */
const refusalsOf = () => {
  const destroyed = new Set<string>()
  return {
    destroyed: (sandboxId: string) => {
      destroyed.delete(sandboxId)
      destroyed.add(sandboxId)
      if (destroyed.size > destroyedMax) destroyed.delete(destroyed.values().next().value!)
    },
    refusal: (sandboxId: string): RuntimeRefused | null =>
      destroyed.has(sandboxId)
        ? new RuntimeRefused({
            code: "HOST_FULL",
            message: publicText`The Sandbox was removed from this host.`
          })
        : null
  }
}

type Feeds = Effect.Success<ReturnType<typeof feedsOf>>

const feedsOf = (runtime: Runtime["Service"]) =>
  Effect.gen(function* () {
    const downs = new LatestFeed<Stream.Success<typeof runtime.downs>>()
    const stalls = new LatestFeed<Stream.Success<typeof runtime.stalls>>()
    yield* worker(
      "host downs",
      Stream.runForEach(runtime.downs, (down) => Effect.sync(() => downs.put(down))).pipe(Effect.andThen(Effect.never))
    )
    yield* worker(
      "host stalls",
      Stream.runForEach(runtime.stalls, (stall) => Effect.sync(() => stalls.put(stall))).pipe(
        Effect.andThen(Effect.never)
      )
    )
    return {
      downs: downs.stream,
      stalls: stalls.stream,
      console: yield* consoleFeed(runtime.console),
      /** Called when this generation, and every older one, has ended. */
      forget: (sandboxId: string, generation: number) => {
        downs.forget(sandboxId, generation)
        stalls.forget(sandboxId, generation)
      }
    }
  })

const handlersOf = (
  runtime: Runtime["Service"],
  feeds: Feeds,
  hostId: string,
  describe: HostDoorsOptions["describe"]
) => {
  /** The address may belong to another host by now. */
  const refusal = (meant: string) =>
    meant === hostId ? null : new RuntimeUnavailable({ message: "Another host is there by now." })
  const ended = refusalsOf()
  const ours = <A, E>(meant: { readonly hostId: string }, act: Effect.Effect<A, E>) =>
    Effect.suspend((): Effect.Effect<A, E | RuntimeUnavailable> => {
      const other = refusal(meant.hostId)
      return other === null ? act : Effect.fail(other)
    })
  const told = <A, E>(meant: { readonly hostId: string }, stream: Stream.Stream<A, E>) =>
    Stream.suspend((): Stream.Stream<A, E | RuntimeUnavailable> => {
      const other = refusal(meant.hostId)
      return other === null ? stream : Stream.fail(other)
    })
  return HostRpcs.of({
    Describe: () => describe,
    Provision: (asked) =>
      told(
        asked,
        Stream.callback<"turn", RuntimeRefused | RuntimeUnavailable>((queue) =>
          Effect.suspend((): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> => {
            const refused = ended.refusal(asked.sandboxId)
            if (refused !== null) return Effect.fail(refused)
            return runtime.provision(asked, () => void Queue.offerUnsafe(queue, "turn" as const))
          }).pipe(
            Effect.tap(() => Effect.sync(() => feeds.forget(asked.sandboxId, asked.generation - 1))),
            Effect.matchCauseEffect({
              onFailure: (cause) => Queue.failCause(queue, cause),
              onSuccess: () => Queue.end(queue)
            })
          )
        )
      ),
    Stop: (asked) =>
      ours(
        asked,
        Effect.tap(runtime.stop(asked.sandboxId, asked.generation), () =>
          Effect.sync(() => feeds.forget(asked.sandboxId, asked.generation))
        )
      ),
    Destroy: (asked) =>
      ours(
        asked,
        Effect.andThen(
          Effect.sync(() => ended.destroyed(asked.sandboxId)),
          Effect.tap(runtime.destroy(asked.sandboxId), () =>
            Effect.sync(() => feeds.forget(asked.sandboxId, Number.POSITIVE_INFINITY))
          )
        )
      ),
    Resize: (asked) => ours(asked, runtime.resize(asked.sandboxId, asked.generation, asked)),
    Suspend: (asked) => ours(asked, runtime.suspend(asked.sandboxId, asked.generation)),
    Inventory: (asked) => ours(asked, runtime.inventory),
    CaptureSnapshot: (asked) => ours(asked, runtime.snapshots.capture(asked.snapshotId, asked.sandboxId, asked.memory)),
    RestoreSnapshot: (asked) =>
      ours(asked, runtime.snapshots.restore(asked.snapshotId, asked.sandboxId, asked.generation)),
    SnapshotImage: (asked) => ours(asked, runtime.snapshots.read(asked.snapshotId, null)),
    AcceptSnapshot: (asked) => ours(asked, runtime.snapshots.accept(asked.snapshotId, null)),
    RemoveSnapshot: (asked) => ours(asked, runtime.snapshots.remove(asked.snapshotId, null)),
    Snapshots: (asked) => ours(asked, runtime.snapshots.inventory),
    PullImage: (asked) => ours(asked, runtime.images.pull(asked)),
    AcceptImage: (asked) => ours(asked, runtime.images.accept(asked.imageId)),
    DiscardImage: (asked) => ours(asked, runtime.images.discard(asked.imageId)),
    UploadedImages: (asked) => ours(asked, runtime.images.uploads),
    RemoveImage: (asked) => ours(asked, runtime.images.remove(asked.digest)),
    Images: (asked) => ours(asked, runtime.images.inventory),
    Sample: (asked) => ours(asked, runtime.sample(asked.sandboxId, asked.generation)),
    Downs: (asked) => told(asked, feeds.downs),
    Stalls: (asked) => told(asked, feeds.stalls),
    Console: (asked) => told(asked, feeds.console)
  })
}
