/**
 * Connections between Atoll's own processes: services and the hosts that carry their Sandboxes. Both sides prove who they are before a byte of either is
 * read: by a secret that all of them have, or by certificates that one authority of theirs has signed. What a connection is for is agreed on with
 * the handshake (ALPN), so one port serves all.
 *
 * A new secret or certificate is read from its file without a restart: connections that are open stay, whoever connects next uses it.
 *
 * @source RFC 7301 (ALPN); RFC 4279 and RFC 5489 (TLS with pre-shared keys); node:tls
 */
import type { TLSSocket } from "node:tls"
import { Context, type Effect, Schema, type Scope } from "effect"

/**
 * `atoll-join/1`: a host to a service, that it is there (`JoinRpcs`). `atoll-host/1`: a service to a host, control calls (`HostRpcs`).
 * `atoll-agent/1`: a service to a host, the bytes of one agent. `atoll-actors/1`: a service to a service, messages of actors.
 */
export type PeerProtocol = "atoll-join/1" | "atoll-host/1" | "atoll-agent/1" | "atoll-actors/1"

/** Nobody answers there, or who does is none of ours. `message` is one sentence without a secret. */
export class PeerUnreachable extends Schema.TaggedError<PeerUnreachable>()("PeerUnreachable", {
  message: Schema.String
}) {}

/** The port cannot be listened on, or the secret or certificates cannot be used. `message` is one sentence. */
export class PeerUnusable extends Schema.TaggedError<PeerUnusable>()("PeerUnusable", { message: Schema.String }) {}

export interface PeerAddress {
  readonly host: string
  readonly port: number
}

/** Where somebody is, and who. */
export interface PeerPlace extends PeerAddress {
  /** What the certificate of whoever answers has to call it (`hostName.ts`); null or absent: whatever that says. */
  readonly name?: string | null
}

export class PeerSockets extends Context.Service<
  PeerSockets,
  {
    /** An open, authenticated connection; it is destroyed with the scope. */
    readonly connect: (to: PeerPlace, protocol: PeerProtocol) => Effect.Effect<TLSSocket, PeerUnreachable, Scope.Scope>
    /** Listens for as long as the scope lasts. Each door gets authenticated connections only, and owns them; the port that was taken. */
    readonly listen: (
      at: PeerAddress,
      doors: Readonly<Partial<Record<PeerProtocol, (socket: TLSSocket) => void>>>
    ) => Effect.Effect<{ readonly port: number }, PeerUnusable, Scope.Scope>
  }
>()("atoll/peer/PeerSockets") {}
