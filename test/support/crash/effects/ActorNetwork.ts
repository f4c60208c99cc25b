/**
 * Connections for actor messages between services in this process, in memory: no kernel decides the order, and a frozen service holds its end.
 */
import { type Duplex, duplexPair } from "node:stream"
import type { TLSSocket } from "node:tls"
import { Effect, Layer } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import { Socket } from "effect/socket"
import { ActorSockets } from "../../../../src/engine/ActorSockets.ts"
import { acceptedPeers } from "../../../../src/peer/acceptedPeers.ts"
import type { Freeze } from "./Freeze.ts"

interface Listener {
  readonly freeze: Freeze
  readonly accept: (socket: TLSSocket) => void
}

/** What `acceptedPeers` asks of a connection beyond a stream. */
const asSocket = (stream: Duplex): TLSSocket =>
  Object.assign(stream, { destroySoon: () => void stream.end() }) as unknown as TLSSocket

/** Bytes and ends go on from one stream to the other when `gate` lets them. */
const carry = (from: Duplex, to: Duplex, gate: (action: () => void) => void): void => {
  from.on("error", () => {})
  from.on("data", (chunk: Buffer) => gate(() => void (to.destroyed || to.write(chunk))))
  from.on("end", () => gate(() => void to.end()))
  from.on("close", () => gate(() => void to.destroy()))
}

const refused = (port: number) =>
  new Socket.SocketError({
    reason: new Socket.SocketOpenError({ kind: "Unknown", cause: new Error(`Nothing listens on ${port}.`) })
  })

export class ActorNetwork {
  readonly #listeners = new Map<number, Listener>()

  /** The ends of one service. A dead one calls `leave`. */
  socketsOf(freeze: Freeze): Layer.Layer<ActorSockets> {
    return Layer.succeed(ActorSockets, {
      open: ({ port }) =>
        Effect.acquireRelease(
          Effect.callback<Duplex, Socket.SocketError>((resume) => {
            const there = this.#listeners.get(port)
            if (there === undefined) return resume(Effect.fail(refused(port)))
            const gate = (action: () => void) => freeze.when(() => there.freeze.when(action))
            gate(() => resume(Effect.succeed(this.#connect(there, gate))))
          }),
          (socket) => Effect.sync(() => void socket.destroy()),
          // As the real ones: a frozen service never accepts, and its caller gives up.
          { interruptible: true }
        ),
      serve: Effect.fnUntraced(
        function* (this: ActorNetwork, { port }: { readonly port: number }) {
          const { server, accept } = yield* acceptedPeers(NetAddress.inetAddressFromIpStringUnsafe("127.0.0.1", port))
          this.#listeners.set(port, { freeze, accept })
          return server
        }.bind(this)
      )
    })
  }

  leave(port: number): void {
    this.#listeners.delete(port)
  }

  #connect({ accept }: Listener, gate: (action: () => void) => void): Duplex {
    const [near, ours] = duplexPair()
    const [far, theirs] = duplexPair()
    near.on("error", () => {})
    far.on("error", () => {})
    carry(ours, theirs, gate)
    carry(theirs, ours, gate)
    accept(asSocket(far))
    return asSocket(near)
  }
}
