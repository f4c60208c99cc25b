/**
 * The SSH server before all Sandboxes. The user name is an endpoint id; a connection is let in by one of its grant's keys, while the
 * grant lasts, and leads into that grant's Sandbox and nowhere else.
 *
 * @source contract.md "Cooperative connection"; RFC 4252 section 7, RFC 4254
 */
import type { AddressInfo, Socket } from "node:net"
import { Effect, Exit, FiberSet, Layer, Schema, Scope } from "effect"
import ssh2, { type AuthContext, type Connection, type TcpipRequestInfo } from "ssh2"
import { Settings } from "../Config.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import { ConnectionGrants, type SshAdmission } from "./ConnectionGrants.ts"
import { SshEndpoint } from "./SshEndpoint.ts"
import { serveSession } from "./sshSession.ts"

const authenticateWithinMs = 20_000
const authAttemptsMax = 10
const channelsMax = 32
/** Connections that nobody has proved anything on yet. */
const strangersMax = 128

/** The SSH port cannot be listened on. `message` is a sentence for the operator. */
export class SshUnusable extends Schema.TaggedError<SshUnusable>()("SshUnusable", { message: Schema.String }) {}

const loopbacks = new Set(["localhost", "127.0.0.1", "::1", "sandbox"])

const make = Effect.gen(function* () {
  const { cooperative, sshPort, sshHost } = yield* Settings
  if (cooperative === "off") return
  const grants = yield* ConnectionGrants
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const endpoint = yield* SshEndpoint
  const fork = yield* FiberSet.makeRuntimePromise()
  const sockets = new Set<Socket>()
  let strangers = 0

  /** Answers one attempt. `letIn` comes before the answer: with it the connection is ready. */
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
    // Without a signature the client only asks whether this key would do.
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
    letIn(admission)
    context.accept()
  }

  /** `ssh -L`: to the Sandbox's own loopback only. */
  const forward = (
    admission: SshAdmission,
    accept: () => import("ssh2").ServerChannel,
    reject: () => void,
    { destIP, destPort }: TcpipRequestInfo
  ): void => {
    if (!loopbacks.has(destIP) || destPort < 1 || destPort > 65_535) {
      reject()
      return
    }
    const scope = Effect.runSync(Scope.make())
    const end = () => void Effect.runFork(Scope.close(scope, Exit.void))
    fork(Scope.provide(reach.dial(admission, destPort), scope)).then(
      (stream) => {
        const channel = accept()
        channel.on("error", () => stream.destroy())
        stream.on("error", () => channel.destroy())
        channel.once("close", end)
        stream.once("close", () => channel.destroy())
        channel.pipe(stream)
        stream.pipe(channel)
      },
      () => {
        reject()
        end()
      }
    )
  }

  const serve = (client: Connection, admission: SshAdmission, close: () => void): void => {
    const release = connections.open({
      ...admission,
      mayGoOn: ({ status }) => status === "granted" || status === "elapsed",
      cut: close
    })
    if (release === null) {
      close()
      return
    }
    client.once("close", release)
    let channels = 0
    const guest = reach.guest(admission)
    client.on("session", (accept, reject) => {
      if (channels >= channelsMax) return reject()
      channels++
      const session = accept()
      session.once("close", () => channels--)
      serveSession(session, guest)
    })
    client.on("tcpip", (accept, reject, info) => {
      if (channels >= channelsMax) return reject()
      forward(
        admission,
        () => {
          channels++
          const channel = accept()
          channel.once("close", () => channels--)
          return channel
        },
        reject,
        info
      )
    })
    client.on("request", (_accept, reject) => reject?.())
  }

  const server = new ssh2.Server({ hostKeys: [endpoint.hostKey.privateKey], ident: "Atoll" }, (client) => {
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
      else serve(client, admission, close)
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
  /** Listens only where cooperative connections are on. */
  layer: Layer.effectDiscard(make)
}
