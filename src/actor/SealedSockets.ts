/**
 * The connections between processes: TLS with a key that only those who read the database have (a row of `server_keys`). Both sides prove
 * that they have it, and nobody else reads or sends a byte.
 *
 * @source RFC 4279 and RFC 5489 (TLS with pre-shared keys); node:tls "Pre-shared keys"
 */
import { connect, type TLSSocket, type TlsOptions } from "node:tls"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { Effect, Layer, Option, Schedule } from "effect"
import { Runners, ShardingConfig } from "effect/cluster"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import { serverKey } from "../store/ServerKeys.ts"
import { acceptedSockets } from "./AcceptedSockets.ts"

const keyName = "cluster"
const identity = "atoll"
const tls = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2"
} as const

const openTimeout = "1 second"
/** A process that does not answer these in time is not waited for; its actors may have another owner soon. */
const pings = { pingInterval: "1 second", pingTimeout: "2 seconds" } as const
const connectAgain = Schedule.spaced("100 millis")

const open = (psk: Buffer, host: string, port: number) =>
  Effect.acquireRelease(
    Effect.callback<TLSSocket, Socket.SocketError>((resume) => {
      const socket = connect({
        ...tls,
        host,
        port,
        pskCallback: () => ({ psk, identity }),
        // There is no certificate: whoever has the key is the other process.
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

export const SealedSockets = {
  /** Towards others. */
  layerClients: Layer.effect(
    Runners.RpcClientProtocol,
    Effect.gen(function* () {
      const serialization = yield* RpcSerialization.RpcSerialization
      const psk = yield* serverKey(keyName)
      return {
        codecFor: serialization.codecFor,
        make: Effect.fnUntraced(function* ({ host, port }) {
          const socket = yield* NodeSocket.fromDuplex(open(psk, host, port), { openTimeout })
          return yield* RpcClient.makeProtocolSocket({ ...pings, retryPolicy: connectAgain }).pipe(
            Effect.provideService(Socket.Socket, socket),
            Effect.provideService(RpcSerialization.RpcSerialization, serialization)
          )
        }, Effect.orDie)
      }
    })
  ),

  /** From others. */
  layerServer: Layer.unwrap(
    Effect.gen(function* () {
      const { runnerAddress } = yield* ShardingConfig.ShardingConfig
      const { host, port } = Option.getOrThrow(runnerAddress)
      const psk = yield* serverKey(keyName)
      const options: TlsOptions = { ...tls, pskCallback: (_socket, claimed) => (claimed === identity ? psk : null) }
      return Layer.effect(
        SocketServer.SocketServer,
        Effect.gen(function* () {
          const accepted = yield* acceptedSockets(port)
          const server = yield* NodeSocketServer.makeTls({ ...options, host, port })
          yield* Effect.addFinalizer(() => Effect.sync(accepted.end))
          return server
        })
      )
    })
  )
}
