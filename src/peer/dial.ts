/** A connection to another process of the fleet. */
import { connect } from "node:tls"
import { Effect } from "effect"
import { type PeerAddress, type PeerPlace, type PeerProtocol, PeerUnreachable } from "./PeerSockets.ts"
import type { Proof } from "./Proof.ts"
import { welcome } from "./peerListener.ts"

const answerWithin = "5 seconds"
const keepAliveMs = 10_000
const flushWithinMs = 1000

const shown = ({ host, port }: PeerAddress): string => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`)

/** Sentences for the system's error codes. Any other failure of a handshake means that the peer is not the expected one. */
const whyNobody: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no machine of that name",
  EAI_AGAIN: "the name cannot be looked up now",
  EHOSTUNREACH: "there is no way to that machine",
  ENETUNREACH: "there is no way to that network",
  ETIMEDOUT: "that machine does not answer",
  CERT_HAS_EXPIRED: "the certificate of what is there has expired",
  CERT_NOT_YET_VALID: "the certificate of what is there is not valid yet, by the clock of this machine"
}

/** `isVerified`: this process has accepted the peer, so the peer may have refused this process. */
const reason = (
  cause: Error | null,
  { lacks, ownFault, refusal }: Proof,
  protocol: PeerProtocol,
  isVerified: boolean
): string => {
  const code = String((cause as NodeJS.ErrnoException | null)?.code)
  if (code.includes("NO_APPLICATION_PROTOCOL")) return `what is there does not speak ${protocol}`
  return whyNobody[code] ?? ownFault() ?? `nothing is there ${lacks}${isVerified ? refusal : ""}`
}

/** The connection counts as open once the peer has accepted it. */
export const dial = (proof: Proof, to: PeerPlace, protocol: PeerProtocol) =>
  Effect.gen(function* () {
    const fails = (why: string) => new PeerUnreachable({ message: `No connection to ${shown(to)}: ${why}.` })
    let isOpen = false
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() =>
        connect({ ...proof.client(protocol, to.name ?? null), host: to.host, port: to.port, ALPNProtocols: [protocol] })
      ),
      (socket) =>
        Effect.sync(() => {
          if (!isOpen) return void socket.destroy()
          // Written bytes are still sent, if the peer takes them.
          socket.destroySoon()
          setTimeout(() => socket.destroy(), flushWithinMs).unref()
        })
    )
    // The owner of the socket gets its close event.
    socket.on("error", () => {})
    socket.setNoDelay(true)
    // Each writer that finds it full adds a listener.
    socket.setMaxListeners(0)
    socket.setKeepAlive(true, keepAliveMs)
    yield* Effect.callback<void, PeerUnreachable>((resume) => {
      const fail = (cause: Error | null) =>
        resume(Effect.fail(fails(reason(cause, proof, protocol, socket.authorized))))
      const closed = () => fail(null)
      const readable = () => {
        const first: Buffer | null = socket.read(1)
        if (first === null) return
        // The following bytes belong to the caller.
        socket.off("readable", readable)
        if (first[0] === welcome && socket.alpnProtocol === protocol) resume(Effect.void)
        else fail(null)
      }
      socket.on("readable", readable).once("error", fail).once("close", closed)
      return Effect.sync(() => socket.off("readable", readable).off("error", fail).off("close", closed))
    }).pipe(
      Effect.timeoutOrElse({
        duration: answerWithin,
        orElse: () => Effect.fail(fails(`it does not answer within ${answerWithin}`))
      })
    )
    isOpen = true
    proof.hold(socket)
    return socket
  })
