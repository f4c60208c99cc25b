/** Serves the channels of one SSH connection: sessions, and forwarded connections. @source RFC 4254 */
import { Data, Effect, FiberSet } from "effect"
import type { Connection, ServerChannel, TcpipRequestInfo } from "ssh2"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import type { SandboxEnvs } from "../../sandbox/SandboxEnvs.ts"
import type { LiveConnections } from "../gateway/LiveConnections.ts"
import type { SandboxReach } from "../gateway/SandboxReach.ts"
import { whenClosed } from "../gateway/socketEnd.ts"
import type { SshAdmission } from "./ConnectionGrants.ts"
import { type Ends, serveSession } from "./sshSession.ts"

const channelsMax = 32

const loopbacks = new Set(["localhost", "127.0.0.1", "::1", "sandbox"])

/** The channel is refused; SSH has no more detail. */
class Refused extends Data.TaggedError("Refused") {}

const carries = isTagged(connectionGrantMachine, "carries")
export const mayGoOn = ({ status }: { readonly status: string }): boolean => carries(status)

interface Reached {
  readonly connections: LiveConnections["Service"]
  readonly reach: SandboxReach["Service"]
  readonly envs: SandboxEnvs["Service"]
}

/** Resolves when both sides have closed the channel: ssh2 reports that only by its event. */
const closed = (channel: ServerChannel): Effect.Effect<void> =>
  Effect.callback((resume) => void channel.once("close", () => resume(Effect.void)))

/** Ends the server's direction once the client has taken all pending bytes. */
const flushed = (channel: ServerChannel): Effect.Effect<void> =>
  Effect.callback((resume) => void channel.end(() => resume(Effect.void)))

/** `ssh -L`: to the Sandbox's own loopback only. */
const forwarded = (
  reach: SandboxReach["Service"],
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
export const serveConnection = Effect.fnUntraced(function* (
  { connections, reach, envs }: Reached,
  client: Connection,
  admission: SshAdmission,
  ends: Ends
) {
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
    client.on("tcpip", (accept, reject, info) => carry(forwarded(reach, admission, accept, info), reject))
    client.on("request", (_accept, reject) => reject?.())
  })
}, Effect.scoped)
