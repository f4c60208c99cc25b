/**
 * The SSH server for all Sandboxes. The user name is an endpoint id. A connection is admitted by one of its grant's keys, while the grant lasts, and
 * leads only into that grant's Sandbox.
 *
 * @source contract.md "Cooperative connection"; RFC 4252 section 7, RFC 4254
 */

import type { AddressInfo, Socket } from "node:net"
import { Effect, FiberSet, Layer, Schema, type Scope } from "effect"
import ssh2, { type Connection } from "ssh2"
import type { GatewayAction } from "../../../schemas/Audit.ts"
import { type ErrorCode, errorStatus } from "../../../schemas/Errors.ts"
import { Audit } from "../../account/Audit.ts"
import { Settings } from "../../Config.ts"
import { newRequestId } from "../../platform/identifier/newId.ts"
import { SandboxEnvs } from "../../sandbox/SandboxEnvs.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { plainAddress } from "../gateway/peerAddress.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import { authenticate } from "./authenticate.ts"
import { ConnectionGrants, type SshAdmission } from "./ConnectionGrants.ts"
import { SshEndpoint } from "./SshEndpoint.ts"
import { mayGoOn, serveConnection } from "./serveConnection.ts"
import type { Ends } from "./sshSession.ts"

const authenticateWithinMs = 20_000
const authAttemptsMax = 10
/** Bounds the connections that are not authenticated yet. */
const strangersMax = 128

/** The SSH port cannot be listened on. `message` is a sentence for the operator. */
export class SshUnusable extends Schema.TaggedError<SshUnusable>()("SshUnusable", { message: Schema.String }) {}

const action: GatewayAction = "openSshSession"

/** @param client The client's identification line, such as SSH-2.0-OpenSSH_9.2. */
const noteConnection = (
  audit: Audit["Service"],
  { accountId, sandboxId, actorId }: SshAdmission,
  ends: Ends,
  client: string,
  refusal?: ErrorCode
) =>
  audit.note({
    accountId,
    source: "api",
    action,
    apiKeyId: null,
    keyHint: null,
    keyName: null,
    method: "SSH",
    path: `/api/v2/sandboxes/${sandboxId}/cooperative-connection/${actorId}`,
    sandboxId,
    targetType: "connectionGrant",
    targetId: actorId,
    status: refusal === undefined ? 200 : errorStatus[refusal],
    errorCode: refusal ?? null,
    requestId: newRequestId(),
    sourceIp: ends.client.address,
    userAgent: client
  })

/** The sockets of the server, until they are closed; a stranger has not authenticated itself yet. */
class Clients {
  readonly sockets = new Set<Socket>()
  #strangers = 0

  /** Null: there are too many strangers. `known` is called once the client is no stranger any more. */
  admit(client: Connection, socket: Socket, close: () => void): { readonly known: () => void } | null {
    this.sockets.add(socket)
    this.#strangers++
    const timer = setTimeout(close, authenticateWithinMs)
    let isStranger = true
    const known = () => {
      clearTimeout(timer)
      if (isStranger) this.#strangers--
      isStranger = false
    }
    client.on("error", close)
    client.once("close", () => {
      this.sockets.delete(socket)
      known()
    })
    return this.#strangers > strangersMax ? null : { known }
  }
}

const listen = (
  server: ssh2.Server,
  { sockets }: Clients,
  endpoint: SshEndpoint["Service"],
  { sshPort, sshHost }: Settings["Service"]
): Effect.Effect<void, SshUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<void, SshUnusable>((resume) => {
      const failed = (error: Error) =>
        resume(
          new SshUnusable({
            message: `The SSH gateway cannot listen on ${sshHost} port ${sshPort}: ${error.message}. Set ATOLL_SSH_HOST and ATOLL_SSH_PORT, or ATOLL_COOPERATIVE=off.`
          })
        )
      server.once("error", failed)
      server.listen(sshPort, sshHost, () => {
        server.off("error", failed)
        endpoint.setPort((server.address() as AddressInfo).port)
        resume(Effect.void)
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
  )

const make = Effect.gen(function* () {
  const settings = yield* Settings
  if (settings.cooperative === "off") return
  const grants = yield* ConnectionGrants
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const envs = yield* SandboxEnvs
  const audit = yield* Audit
  const endpoint = yield* SshEndpoint
  const authority = { grants, connections, run: yield* FiberSet.makeRuntimePromise() }
  const run = yield* FiberSet.makeRuntime()
  const clients = new Clients()

  const serve = (client: Connection, admission: SshAdmission, socket: Socket, ident: string): void => {
    const ends: Ends = {
      client: { address: plainAddress(socket.remoteAddress), port: socket.remotePort ?? 0 },
      server: { address: plainAddress(socket.localAddress), port: socket.localPort ?? 0 }
    }
    run(
      connections
        .carry(
          { ...admission, mayGoOn },
          Effect.suspend(() => {
            noteConnection(audit, admission, ends, ident)
            return serveConnection({ connections, reach, envs }, client, admission, ends)
          })
        )
        .pipe(
          Effect.catchTag("TooManyConnections", () =>
            Effect.sync(() => noteConnection(audit, admission, ends, ident, "RATE_LIMITED"))
          ),
          Effect.ensuring(Effect.sync(() => socket.destroy()))
        )
    )
  }

  const server = new ssh2.Server({ hostKeys: [endpoint.hostKey.privateKey], ident: "Atoll" }, (client, { header }) => {
    let admission: SshAdmission | null = null
    let attempts = 0
    const { _sock: socket } = client as unknown as { readonly _sock: Socket }
    const close = () => void socket.destroy()
    const admitted = clients.admit(client, socket, close)
    if (admitted === null) return close()
    client.on("authentication", (context) => {
      if (++attempts > authAttemptsMax) return close()
      authenticate(authority, context, (letIn) => {
        admission = letIn
      }).catch(close)
    })
    client.once("ready", () => {
      admitted.known()
      if (admission === null) close()
      else serve(client, admission, socket, header.identRaw)
    })
  })

  yield* listen(server, clients, endpoint, settings)
})

export const SshGateway = {
  /** Listens only if cooperative connections are on. */
  layer: Layer.effectDiscard(make)
}
