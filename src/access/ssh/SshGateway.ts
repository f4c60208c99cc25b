/**
 * The SSH server for all Sandboxes. The user name is an endpoint id. A connection is admitted by one of its grant's keys, while the grant lasts, and
 * leads only into that grant's Sandbox.
 *
 * @source contract.md "Cooperative connection"; RFC 4252 section 7, RFC 4254
 */

import type { AddressInfo, Socket } from "node:net"
import { Data, Effect, FiberSet, Layer, Schema } from "effect"
import ssh2, { type AuthContext, type Connection, type ServerChannel, type TcpipRequestInfo } from "ssh2"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import type { GatewayAction } from "../../../schemas/Audit.ts"
import { type ErrorCode, errorStatus } from "../../../schemas/Errors.ts"
import { Audit } from "../../account/Audit.ts"
import { Settings } from "../../Config.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { newRequestId } from "../../platform/identifier/newId.ts"
import { SandboxEnvs } from "../../sandbox/SandboxEnvs.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { plainAddress } from "../gateway/peerAddress.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import { whenClosed } from "../gateway/socketEnd.ts"
import { ConnectionGrants, type SshAdmission } from "./ConnectionGrants.ts"
import { SshEndpoint } from "./SshEndpoint.ts"
import { type Ends, serveSession } from "./sshSession.ts"

const authenticateWithinMs = 20_000
const authAttemptsMax = 10
const channelsMax = 32
/** Bounds the connections that are not authenticated yet. */
const strangersMax = 128

/** The SSH port cannot be listened on. `message` is a sentence for the operator. */
export class SshUnusable extends Schema.TaggedError<SshUnusable>()("SshUnusable", { message: Schema.String }) {}

const action: GatewayAction = "openSshSession"

const loopbacks = new Set(["localhost", "127.0.0.1", "::1", "sandbox"])

/** The channel is refused; SSH has no more detail. */
class Refused extends Data.TaggedError("Refused") {}

const carries = isTagged(connectionGrantMachine, "carries")
const mayGoOn = ({ status }: { readonly status: string }): boolean => carries(status)

/** Resolves when both sides have closed the channel: ssh2 reports that only by its event. */
const closed = (channel: ServerChannel): Effect.Effect<void> =>
  Effect.callback((resume) => void channel.once("close", () => resume(Effect.void)))

/** Ends the server's direction once the client has taken all pending bytes. */
const flushed = (channel: ServerChannel): Effect.Effect<void> =>
  Effect.callback((resume) => void channel.end(() => resume(Effect.void)))

const make = Effect.gen(function* () {
  const { cooperative, sshPort, sshHost } = yield* Settings
  if (cooperative === "off") return
  const grants = yield* ConnectionGrants
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const envs = yield* SandboxEnvs
  const audit = yield* Audit
  const endpoint = yield* SshEndpoint
  const fork = yield* FiberSet.makeRuntimePromise()
  const run = yield* FiberSet.makeRuntime()
  const sockets = new Set<Socket>()
  let strangers = 0

  /** Answers one authentication attempt. `letIn` is called before the answer, with which the connection is ready. */
  const authenticate = async (context: AuthContext, letIn: (admission: SshAdmission) => void): Promise<void> => {
    if (context.method !== "publickey") {
      context.reject(["publickey"])
      return
    }
    const known = await fork(grants.keyFor(context.username, context.key.data))
    if (known === null) {
      context.reject(["publickey"])
      return
    }
    // Without a signature the client only asks whether this key would be accepted.
    if (context.signature === undefined || context.blob === undefined) {
      context.accept()
      return
    }
    const key = ssh2.utils.parseKey(known)
    const isRight = !(key instanceof Error) && key.verify(context.blob, context.signature, context.hashAlgo) === true
    const admission = isRight ? await fork(grants.connect(context.username)) : null
    if (admission === null) {
      context.reject(["publickey"])
      return
    }
    // A client opens its session immediately, and the session handler is attached once the connection has its place. So no statement may be awaited
    // in between.
    const gathering = connections.gather(admission)
    if (gathering !== null) await fork(gathering)
    letIn(admission)
    context.accept()
  }

  /** `ssh -L`: to the Sandbox's own loopback only. */
  const forwarded = (
    admission: SshAdmission,
    accept: () => ServerChannel,
    { destIP, destPort }: TcpipRequestInfo
  ): Effect.Effect<void, Refused> =>
    Effect.gen(function* () {
      if (!loopbacks.has(destIP) || destPort < 1 || destPort > 65_535) return yield* new Refused()
      const stream = yield* Effect.mapError(reach.dial(admission, destPort), () => new Refused())
      const channel = yield* Effect.acquireRelease(Effect.sync(accept), (channel) =>
        Effect.sync(() => {
          channel.destroy()
          // Otherwise further bytes of the client would be buffered.
          channel.resume()
        })
      )
      channel.on("error", () => stream.destroy())
      stream.on("error", () => channel.destroy())
      channel.pipe(stream)
      stream.pipe(channel)
      yield* Effect.raceFirst(closed(channel), Effect.andThen(whenClosed(stream), flushed(channel)))
    }).pipe(Effect.scoped)

  /** Serves one connection until it closes. Its channels are connections into the Sandbox too; each takes a place. */
  const served = Effect.fnUntraced(function* (client: Connection, admission: SshAdmission, ends: Ends) {
    const carryEach = yield* FiberSet.makeRuntime()
    const guest = reach.guest(admission)
    const connection = { ...admission, mayGoOn }
    let channels = 0
    /** Takes the place before it waits for anything. */
    const carry = (use: Effect.Effect<void, Refused>, reject: () => void): void => {
      const onChannel = Effect.acquireUseRelease(
        Effect.suspend(() => (channels < channelsMax ? Effect.sync(() => channels++) : new Refused())),
        () => connections.carry(connection, use),
        () => Effect.sync(() => channels--)
      )
      carryEach(Effect.catch(onChannel, () => Effect.sync(() => void reject())))
    }
    yield* Effect.callback<void>((resume) => {
      client.once("close", () => resume(Effect.void))
      client.on("session", (accept, reject) =>
        carry(
          Effect.suspend(() => serveSession(accept(), guest, envs.present(admission.sandboxId), ends)),
          reject
        )
      )
      client.on("tcpip", (accept, reject, info) => carry(forwarded(admission, accept, info), reject))
      client.on("request", (_accept, reject) => reject?.())
    })
  }, Effect.scoped)

  /** @param client The client's identification line, such as SSH-2.0-OpenSSH_9.2. */
  const note = ({ accountId, sandboxId, actorId }: SshAdmission, ends: Ends, client: string, refusal?: ErrorCode) =>
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
            note(admission, ends, ident)
            return served(client, admission, ends)
          })
        )
        .pipe(
          Effect.catchTag("TooManyConnections", () => Effect.sync(() => note(admission, ends, ident, "RATE_LIMITED"))),
          Effect.ensuring(Effect.sync(() => socket.destroy()))
        )
    )
  }

  const server = new ssh2.Server({ hostKeys: [endpoint.hostKey.privateKey], ident: "Atoll" }, (client, { header }) => {
    let admission: SshAdmission | null = null
    let attempts = 0
    const { _sock: socket } = client as unknown as { readonly _sock: Socket }
    const close = () => void socket.destroy()
    sockets.add(socket)
    strangers++
    const timer = setTimeout(close, authenticateWithinMs)
    let isStranger = true
    const noStranger = () => {
      clearTimeout(timer)
      if (isStranger) strangers--
      isStranger = false
    }
    client.on("error", close)
    client.once("close", () => {
      sockets.delete(socket)
      noStranger()
    })
    if (strangers > strangersMax) return close()
    client.on("authentication", (context) => {
      if (++attempts > authAttemptsMax) return close()
      authenticate(context, (letIn) => {
        admission = letIn
      }).catch(close)
    })
    client.once("ready", () => {
      noStranger()
      if (admission === null) close()
      else serve(client, admission, socket, header.identRaw)
    })
  })

  yield* Effect.acquireRelease(
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
})

export const SshGateway = {
  /** Listens only if cooperative connections are on. */
  layer: Layer.effectDiscard(make)
}
