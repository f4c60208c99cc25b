/**
 * Connections between processes that share only a database: TLS with a pre-shared key from a row of `server_keys`.
 * Both sides prove that they have the key; without it no byte is read or sent.
 *
 * @source RFC 4279 and RFC 5489 (TLS with pre-shared keys); node:tls "Pre-shared keys"
 */
import { connect, type TLSSocket, type TlsOptions } from "node:tls"
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

const open = (psk: Buffer, host: string, port: number) =>
  Effect.acquireRelease(
    Effect.callback<TLSSocket, Socket.SocketError>((resume) => {
      const socket = connect({
        ...tls,
        host,
        port,
        pskCallback: () => ({ psk, identity }),
        // There is no certificate: the key authenticates the other process.
        checkServerIdentity: () => undefined
      })
      socket.setNoDelay(true)
      socket.once("secureConnect", () => resume(Effect.succeed(socket)))
      socket.on("error", (cause) =>
        resume(Effect.fail(new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) })))
      )
      return Effect.sync(() => socket.destroy())
    }),
    (socket) => Effect.sync(() => socket.destroySoon())
  )

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
