/**
 * Connections between Atoll's own processes: services and the hosts that run their Sandboxes. Both sides authenticate before a byte of either is
 * read: by a shared secret, or by certificates of one authority. The handshake also selects the protocol (ALPN), so one port serves all.
 *
 * A new secret or certificate is read from its file without a restart: open connections stay, and the next connections use it.
 *
 * @source RFC 7301 (ALPN); RFC 4279 and RFC 5489 (TLS with pre-shared keys); node:tls
 */
import type { TLSSocket } from "node:tls"
import { Context, type Effect, Schema, type Scope } from "effect"

/**
 * `atoll-join/1`: a host registers with a service (`JoinRpcs`). `atoll-host/1`: a service controls a host (`HostRpcs`). `atoll-agent/1`: a service
 * exchanges the bytes of one agent with a host. `atoll-snapshot/1`: it exchanges the content of one snapshot with a host. `atoll-actors/1`: a service sends actor messages to a service.
 */
export type PeerProtocol = "atoll-join/1" | "atoll-host/1" | "atoll-agent/1" | "atoll-snapshot/1" | "atoll-actors/1"

/** No process answers there, or it does not belong to this fleet. `message` is one sentence without a secret. */
export class PeerUnreachable extends Schema.TaggedError<PeerUnreachable>()("PeerUnreachable", {
  message: Schema.String
}) {}

/** The port cannot be listened on, or the secret or certificates cannot be used. `message` is one sentence. */
export class PeerUnusable extends Schema.TaggedError<PeerUnusable>()("PeerUnusable", { message: Schema.String }) {}

export interface PeerAddress {
  readonly host: string
  readonly port: number
}

/** The address of a process, and optionally its identity. */
export interface PeerPlace extends PeerAddress {
  /** The name that the peer's certificate must have (`hostName.ts`); null or absent: any name. */
  readonly name?: string | null
}

export class PeerSockets extends Context.Service<
  PeerSockets,
  {
    /** An open, authenticated connection; it is destroyed with the scope. */
    readonly connect: (to: PeerPlace, protocol: PeerProtocol) => Effect.Effect<TLSSocket, PeerUnreachable, Scope.Scope>
    /** Listens until the scope closes. Each handler gets authenticated connections only, and owns them. Returns the bound port. */
    readonly listen: (
      at: PeerAddress,
      handlers: Readonly<Partial<Record<PeerProtocol, (socket: TLSSocket) => void>>>
    ) => Effect.Effect<{ readonly port: number }, PeerUnusable, Scope.Scope>
  }
>()("atoll/peer/PeerSockets") {}
