/** A service with its gateways on a real port, a running simulated Sandbox, and a program that listens inside it. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Schedule } from "effect"
import { PublicPort } from "../../src/access/gateway/PublicPort.ts"
import { placeGateways, type RawGateway } from "../../src/access/gateway/RawGateway.ts"
import { requireOneHost } from "../../src/api/http/requireOneHost.ts"
import type { SimulatedWorld } from "../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../src/sandbox/Sandboxes.ts"
import { newAccount } from "./TestAtoll.ts"

export const requestIdentity = { requestId: "req_test", exhaustedAt: null }

/** The API's answer: it shows a test that a gateway did not take the request. */
export const apiAnswer = "this is the API"

/** Listens on a free port of the loopback until the scope ends. */
export const serveGateways = Effect.fnUntraced(function* (gateways: ReadonlyArray<RawGateway>) {
  const server: Server = createServer((_request, response) => response.end(apiAnswer))
  // Like the listener.
  requireOneHost(server)
  placeGateways(server, gateways)
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const { port } = server.address() as AddressInfo
  const publicPort = yield* PublicPort
  publicPort.set(port)
  return port
})

/** A running Sandbox of a new account. */
export const runningSandboxOf = Effect.fnUntraced(function* (options: { readonly networkEnabled?: boolean } = {}) {
  const sandboxes = yield* Sandboxes
  const { accountId, workspaceId } = yield* newAccount
  const { sandbox } = yield* sandboxes.create({
    accountId,
    requestId: "req_test",
    idempotencyKey: "k",
    fingerprint: "f",
    request: {
      workspaceId,
      name: null,
      networkEnabled: options.networkEnabled ?? true,
      metadata: {},
      env: {},
      lifetime: null
    }
  })
  yield* Effect.repeat(sandboxes.get(accountId, sandbox.id), {
    schedule: Schedule.spaced(5),
    until: ({ status }) => status === "running"
  })
  return { accountId, sandboxId: sandbox.id }
})

/** A real node:http server inside a simulated Sandbox. */
export const listenInside = (world: SimulatedWorld, sandboxId: string, port: number, server: Server) =>
  void world.machines.get(sandboxId)!.listeners.set(port, (stream) => void server.emit("connection", stream))
