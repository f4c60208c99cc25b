/**
 * A host on another machine as a `Runtime`: its calls are RPCs (`HostRpcs`), and its guests use their agents over connections that the host splices.
 *
 * A host is trusted with its own Sandboxes and no more: its answers must fit their schemas, and open fields are truncated. Any other failure of a
 * call is a `RuntimeUnavailable`, which does not say whether the host carried it out: every call may be repeated.
 */

import { Cause, Effect, Option, Schedule, Stream } from "effect"
import type { RpcClient, RpcClientError, RpcGroup } from "effect/rpc"
import { publicText } from "../../../schemas/PublicText.ts"
import { connectPeerRpcs } from "../../peer/PeerRpc.ts"
import { type PeerPlace, PeerSockets } from "../../peer/PeerSockets.ts"
import { shownProse } from "../agentClient/heldToShape.ts"
import { GuestUnavailable } from "../Guest.ts"
import { Runtime, RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported } from "../Runtime.ts"
import { agentConnections } from "./AgentConnections.ts"
import { DistantGuests } from "./DistantGuests.ts"
import type { HostDescription } from "./HostDescription.ts"
import { HostRpcs } from "./HostRpcs.ts"
import { FAULT_MAX_CHARS } from "./hostTold.ts"

const DESCRIBED_WITHIN = "10 seconds"
/** An older description is requested again when it is used. */
const DESCRIPTION_MS = 30_000
/** A broken stream is requested again soon; one that the host ended belongs to another service now. */
const AGAIN = "500 millis"
const ANOTHERS = "5 seconds"

type Client = RpcClient.RpcClient<RpcGroup.Rpcs<typeof HostRpcs>, RpcClientError.RpcClientError>
type HostError = RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported

const cut = <T extends string>(text: T): T => shownProse(text, FAULT_MAX_CHARS) as T

const held = <E>(error: E): E =>
  (error instanceof RuntimeRefused
    ? new RuntimeRefused({ code: error.code, message: cut(error.message) })
    : error instanceof RuntimeUnavailable
      ? new RuntimeUnavailable({
          message: cut(error.message),
          ...(error.shown === undefined ? {} : { shown: cut(error.shown) })
        })
      : error instanceof RuntimeUnsupported
        ? new RuntimeUnsupported({ message: cut(error.message) })
        : error) as E

const isHostError = (error: unknown): error is HostError =>
  error instanceof RuntimeRefused || error instanceof RuntimeUnavailable || error instanceof RuntimeUnsupported

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

  const silence = RuntimeUnavailable.known(publicText`The host of the Sandbox does not answer.`)
  const breach = RuntimeUnavailable.known(publicText`The host of the Sandbox broke its protocol.`)

  /** Maps every failure of a call to its own error, or to an unanswering host. */
  const asked = <A, E extends { readonly _tag: string }>(
    effect: Effect.Effect<A, E>
  ): Effect.Effect<A, Extract<E, HostError> | RuntimeUnavailable> =>
    Effect.catchCause(effect, (cause): Effect.Effect<never, Extract<E, HostError> | RuntimeUnavailable> => {
      const error = Option.getOrNull(Cause.findErrorOption(cause))
      if (isHostError(error)) return Effect.fail(held(error) as Extract<E, HostError>)
      // A stopping host interrupts its running calls.
      return Effect.fail(error !== null || Cause.hasInterrupts(cause) ? silence : breach)
    })

  let client: Client | null = null
  let description: HostDescription | null = null
  let describedAt = 0
  const describe = (by: Client) =>
    asked(by.Describe(undefined)).pipe(
      Effect.timeoutOrElse({ duration: DESCRIBED_WITHIN, orElse: () => Effect.fail(silence) }),
      Effect.tap((it) =>
        Effect.sync(() => {
          if (it.hostId !== hostId) return
          description = it
          describedAt = performance.now()
        })
      )
    )
  const describeAgain = Effect.suspend(() =>
    client === null ? Effect.void : Effect.asVoid(Effect.forkIn(Effect.ignore(describe(client)), scope))
  )
  const runFork = Effect.runForkWith(yield* Effect.context<never>())

  const calls = yield* connectPeerRpcs(HostRpcs, to, "atoll-host/1", {
    connected: describeAgain,
    // Calls that wait for an agent there would wait for ever.
    silent: Effect.sync(() => {
      connections.discard()
      guests.endAll()
    })
  })
  client = calls
  const first = yield* describe(calls)
  if (first.hostId !== hostId) {
    return yield* new RuntimeUnavailable({ message: "Another host is at the address of the Sandbox's host." })
  }

  /** Uses a separate connection, so that a slow consumer delays no call. */
  const feed = <A, E>(name: string, ask: (by: Client) => Stream.Stream<A, E>): Stream.Stream<A> => {
    const once = Stream.unwrap(
      Effect.map(connectPeerRpcs(HostRpcs, to, "atoll-host/1"), (by) => Stream.orDie(ask(by)))
    ).pipe(Stream.provideService(PeerSockets, sockets))
    const pause = (duration: typeof AGAIN | typeof ANOTHERS) => Stream.fromEffectDrain(Effect.sleep(duration))
    return Stream.concat(once, pause(ANOTHERS)).pipe(
      Stream.catchCause((cause) =>
        Stream.concat(
          Stream.fromEffectDrain(Effect.logDebug(`The ${name} of ${hostId} broke off`, cause)),
          pause(AGAIN)
        )
      ),
      Stream.repeat(Schedule.forever)
    )
  }

  /** The latest description: a restarted host process may be another version of Atoll. */
  const said = () => description ?? first

  return Runtime.of({
    get driver() {
      return said().driver
    },
    get kind() {
      return said().kind
    },
    capabilities: {
      get suspend() {
        return said().suspends
      },
      get networkFiltered() {
        return said().networkFiltered
      },
      networkRefused: () => {
        if (performance.now() - describedAt > DESCRIPTION_MS) {
          describedAt = performance.now()
          runFork(describeAgain)
        }
        const { networkRefused } = said()
        return networkRefused
      },
      statements: []
    },
    provision: (spec, turn) =>
      Effect.suspend(() => {
        connections.prepare()
        const { sandboxId, generation } = spec
        return asked(Stream.runForEach(calls.Provision({ hostId, ...spec }), () => Effect.sync(() => turn?.()))).pipe(
          Effect.tap(() => Effect.sync(() => guests.end(sandboxId, generation - 1))),
          // Connects now, so that its first command does not wait for that.
          Effect.tap(() => Effect.forkIn(Effect.ignore(guests.guest(sandboxId, generation)), scope))
        )
      }),
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
      ),
    inventory: asked(calls.Inventory({ hostId })),
    guest: (sandboxId, generation) => guests.guest(sandboxId, generation),
    connect: (sandboxId, generation) =>
      Effect.acquireRelease(
        Effect.tryPromise({
          try: () => connections.open(sandboxId, generation),
          catch: (cause) => new GuestUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
        }),
        (connection) => Effect.sync(() => connection.destroy())
      ),
    sample: (sandboxId, generation) => asked(calls.Sample({ hostId, sandboxId, generation })),
    downs: feed("downs", (by) => by.Downs({ hostId }, { streamBufferSize: 1024 })),
    stalls: feed("stalls", (by) => by.Stalls({ hostId }, { streamBufferSize: 1024 })),
    console: feed("console", (by) => by.Console({ hostId }))
  })
})
