/**
 * RPC protocols of a process that also serves others through Effect's RPC: each has the connections that asked for it,
 * and no others.
 */
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import { Rpc, RpcGroup, RpcSerialization, RpcServer } from "effect/rpc"
import { SocketServer } from "effect/socket"
import { connectPeerRpcs, peerRpcServer } from "../../../src/peer/PeerRpc.ts"
import { PeerSockets } from "../../../src/peer/PeerSockets.ts"
import { loopback, peer } from "../../support/peer/TestPeers.ts"
import { testFolder } from "../../support/testFolder.ts"

const payload = { number: Schema.Int }
const Doubles = RpcGroup.make(Rpc.make("Double", { payload, success: Schema.Int }))
const Squares = RpcGroup.make(Rpc.make("Square", { payload, success: Schema.Int }))

const handlers = Layer.merge(
  Doubles.toLayer({ Double: ({ number }) => Effect.succeed(2 * number) }),
  Squares.toLayer({ Square: ({ number }) => Effect.succeed(number * number) })
)

/** Like the cluster's runner: made of the same layer of Effect's, for separate connections. */
const another = RpcServer.layerProtocolSocketServer.pipe(
  Layer.provide([
    RpcSerialization.layerNdjson,
    Layer.succeed(
      SocketServer.SocketServer,
      SocketServer.SocketServer.of({ address: NetAddress.unixPathAddress("/"), run: () => Effect.never })
    )
  ])
)

it.live("each protocol answers its own connections, even if that process serves others by the same layer", () =>
  Effect.gen(function* () {
    const path = join(yield* testFolder, "secret")
    writeFileSync(path, randomBytes(32).toString("hex"), { mode: 0o600 })
    const sockets = yield* peer({ ATOLL_FLEET_SECRET_FILE: path })
    let port = 0
    const service = Layer.effectDiscard(
      Effect.gen(function* () {
        const doubles = yield* peerRpcServer(Doubles)
        const squares = yield* peerRpcServer(Squares)
        const at = { host: loopback, port: 0 }
        ;({ port } = yield* sockets.listen(at, { "atoll-join/1": doubles, "atoll-host/1": squares }))
      })
    )
    yield* Layer.build(service.pipe(Layer.provide([handlers, another])))
    const answers = Effect.gen(function* () {
      const to = { host: loopback, port }
      const double = yield* connectPeerRpcs(Doubles, to, "atoll-join/1")
      const square = yield* connectPeerRpcs(Squares, to, "atoll-host/1")
      // A call that begins before there is a connection fails.
      const again = { times: 100, schedule: undefined }
      return [
        yield* double.Double({ number: 7 }).pipe(Effect.retry(again)),
        yield* square.Square({ number: 7 }).pipe(Effect.retry(again))
      ]
    })
    const found = yield* answers.pipe(
      Effect.provideService(PeerSockets, sockets),
      Effect.timeoutOrElse({ duration: "30 seconds", orElse: () => Effect.succeed("no answer") })
    )
    assert.deepStrictEqual(found, [14, 49])
  })
)
