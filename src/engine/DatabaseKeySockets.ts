/**
 * Connections between processes that share only a database: TLS with a pre-shared key from a row of `server_keys`.
 * Both sides prove that they have the key; without it no byte is read or sent.
 *
 * @source RFC 4279 and RFC 5489 (TLS with pre-shared keys); node:tls "Pre-shared keys"
 */
import { connect, type TlsOptions } from "node:tls"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { Effect, Layer } from "effect"
import { Socket } from "effect/socket"
import type { PeerAddress } from "../peer/PeerSockets.ts"
import { portUnusable } from "../peer/peerListener.ts"
import { serverKey } from "../store/ServerKeys.ts"
import { acceptedSockets } from "./AcceptedSockets.ts"
import { ActorSockets } from "./ActorSockets.ts"

const keyName = "cluster"
const identity = "atoll"
const tls = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2"
} as const

/** An interruption ends the handshake: a frozen process accepts the connection and then says nothing. */
const open = Effect.fnUntraced(function* (psk: Buffer, host: string, port: number) {
  let isOpen = false
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      connect({
        ...tls,
        host,
        port,
        pskCallback: () => ({ psk, identity }),
        // There is no certificate: the key authenticates the other process.
        checkServerIdentity: () => undefined
      })
    ),
    (socket) => Effect.sync(() => void (isOpen ? socket.destroySoon() : socket.destroy()))
  )
  // The owner of the socket gets its close event.
  socket.on("error", () => {})
  socket.setNoDelay(true)
  yield* Effect.callback<void, Socket.SocketError>((resume) => {
    const opened = () => resume(Effect.void)
    const fail = (cause: Error) =>
      resume(Effect.fail(new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) })))
    socket.once("secureConnect", opened).once("error", fail)
    return Effect.sync(() => socket.off("secureConnect", opened).off("error", fail))
  })
  isOpen = true
  return socket
})

const serve = Effect.fnUntraced(function* (psk: Buffer, at: PeerAddress) {
  const { host, port } = at
  const options: TlsOptions = { ...tls, pskCallback: (_socket, claimed) => (claimed === identity ? psk : null) }
  const accepted = yield* acceptedSockets(port)
  const server = yield* NodeSocketServer.makeTls({ ...options, host, port }).pipe(
    Effect.mapError(({ cause }) => portUnusable(at, cause))
  )
  yield* Effect.addFinalizer(() => Effect.sync(accepted.end))
  return server
})

export const DatabaseKeySockets = {
  /** Needs the database. */
  layer: Layer.effect(
    ActorSockets,
    Effect.map(serverKey(keyName), (psk) => ({
      open: ({ host, port }) => open(psk, host, port),
      serve: (at) => serve(psk, at)
    }))
  )
}
