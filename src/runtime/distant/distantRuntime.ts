/**
 * A host on another machine as a `Runtime`: its calls are RPCs (`HostRpcs`), and its guests use their agents over connections that the host splices.
 *
 * A host is trusted with its own Sandboxes and no more: its answers must fit their schemas, and open fields are truncated. Any other failure of a
 * call is a `RuntimeUnavailable`, which does not say whether the host carried it out: every call may be repeated.
 */

import { Effect, type Scope, Stream } from "effect"
import { connectPeerRpcs } from "../../peer/PeerRpc.ts"
import { type PeerPlace, PeerSockets } from "../../peer/PeerSockets.ts"
import { GuestUnavailable } from "../Guest.ts"
import { Runtime, RuntimeUnavailable } from "../Runtime.ts"
import { type AgentConnections, agentConnections } from "./AgentConnections.ts"
import { DescribedHost } from "./DescribedHost.ts"
import { DistantGuests } from "./DistantGuests.ts"
import { distantImages, refusesImages } from "./distantImages.ts"
import { distantSnapshots, olderHost } from "./distantSnapshots.ts"
import { type HostClient, HostRpcs } from "./HostRpcs.ts"
import { asked } from "./hostFaults.ts"
import { hostFeed } from "./hostFeed.ts"
import { snapshotContents } from "./SnapshotContents.ts"

interface Host {
  readonly hostId: string
  readonly calls: HostClient
  readonly connections: AgentConnections
  readonly guests: DistantGuests
  readonly scope: Scope.Scope
  readonly described: DescribedHost
}

/** Changes of Sandboxes. The guests of an ended generation end here, too. */
const changes = ({ hostId, calls, connections, guests, scope, described }: Host) =>
  ({
    provision: (spec, turn) =>
      Effect.suspend(() => {
        // It would start it with an empty volume.
        if (spec.snapshotId !== undefined && !described.said.takesSnapshots) return Effect.fail(olderHost())
        const refusal = refusesImages(described, spec)
        if (refusal !== null) return Effect.fail(refusal)
        connections.prepare()
        const { sandboxId, generation } = spec
        return asked(Stream.runForEach(calls.Provision({ hostId, ...spec }), () => Effect.sync(() => turn?.()))).pipe(
          Effect.tap(() => Effect.sync(() => guests.end(sandboxId, generation - 1))),
          // Connects now, so that its first command does not wait for that.
          Effect.tap(() => Effect.forkIn(Effect.ignore(guests.guest(sandboxId, generation)), scope))
        )
      }),
    resize: (sandboxId, generation, sizes) => asked(calls.Resize({ hostId, sandboxId, generation, ...sizes })),
    stop: (sandboxId, generation) =>
      Effect.tap(asked(calls.Stop({ hostId, sandboxId, generation })), () =>
        Effect.sync(() => guests.end(sandboxId, generation))
      ),
    destroy: (sandboxId) =>
      Effect.tap(asked(calls.Destroy({ hostId, sandboxId })), () =>
        Effect.sync(() => guests.end(sandboxId, Number.POSITIVE_INFINITY))
      ),
    suspend: (sandboxId, generation) =>
      Effect.tap(asked(calls.Suspend({ hostId, sandboxId, generation })), () =>
        Effect.sync(() => guests.end(sandboxId, generation))
      )
  }) satisfies Partial<Runtime["Service"]>

const guestsOf = ({ connections, guests }: Host) =>
  ({
    guest: (sandboxId, generation) => guests.guest(sandboxId, generation),
    connect: (sandboxId, generation) =>
      Effect.acquireRelease(
        Effect.tryPromise({
          try: () => connections.open(sandboxId, generation),
          catch: (cause) => new GuestUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
        }),
        (connection) => Effect.sync(() => connection.destroy())
      )
  }) satisfies Partial<Runtime["Service"]>

/** By the latest description. */
const capabilitiesOf = (host: DescribedHost): Runtime["Service"]["capabilities"] => ({
  get suspend() {
    return host.said.suspends
  },
  get memorySnapshots() {
    return host.said.keepsMemory === true
  },
  get networkFiltered() {
    return host.said.networkFiltered
  },
  networkRefused: () => {
    host.refresh()
    return host.said.networkRefused
  },
  statements: []
})

/**
 * Reconnects by itself until the scope closes.
 *
 * @param hostId The expected host. Another host at that address gets no requests, and no data if its certificate has another name than `to`.
 */
export const distantRuntime = Effect.fnUntraced(function* (hostId: string, to: PeerPlace) {
  const sockets = yield* PeerSockets
  const scope = yield* Effect.scope
  const connections = yield* agentConnections(hostId, to)
  const guests = new DistantGuests(connections)
  yield* Effect.addFinalizer(() => Effect.sync(() => guests.endAll()))

  const contents = yield* snapshotContents(hostId, to)
  const described = yield* DescribedHost.make(hostId)
  const calls = yield* connectPeerRpcs(HostRpcs, to, "atoll-host/1", {
    connected: described.describeAgain,
    // Calls that wait for an agent there would wait for ever.
    silent: Effect.sync(() => {
      connections.discard()
      contents.discard()
      guests.endAll()
    })
  })
  const first = yield* described.describe(calls)
  if (first.hostId !== hostId) {
    return yield* new RuntimeUnavailable({ message: "Another host is at the address of the Sandbox's host." })
  }

  const host: Host = { hostId, calls, connections, guests, scope, described }
  const source = { hostId, to, sockets }
  return Runtime.of({
    get driver() {
      return described.said.driver
    },
    get kind() {
      return described.said.kind
    },
    capabilities: capabilitiesOf(described),
    ...changes(host),
    ...guestsOf(host),
    snapshots: distantSnapshots({ hostId, calls, described, contents }),
    images: distantImages({ hostId, calls, described, contents }),
    inventory: asked(calls.Inventory({ hostId })),
    sample: (sandboxId, generation) => asked(calls.Sample({ hostId, sandboxId, generation })),
    downs: hostFeed(source, "downs", (by) => by.Downs({ hostId }, { streamBufferSize: 1024 })),
    stalls: hostFeed(source, "stalls", (by) => by.Stalls({ hostId }, { streamBufferSize: 1024 })),
    console: hostFeed(source, "console", (by) => by.Console({ hostId }))
  })
})
