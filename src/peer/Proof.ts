/** How a process proves to others of its fleet that it belongs to it, and how it verifies them: a secret, or certificates. */
import { constants } from "node:crypto"
import type { ConnectionOptions, SecureContextOptions, TLSSocket, TlsOptions } from "node:tls"
import type { PeerProtocol } from "./PeerSockets.ts"

export interface Proof {
  /** Options for each connection. `name`: of the host that is called; null: any. */
  readonly client: (protocol: PeerProtocol, name: string | null) => ConnectionOptions
  readonly server: TlsOptions
  /** Whether the peer of a connection may use that protocol. Called after the handshake. */
  readonly mayEnter: (socket: TLSSocket, protocol: PeerProtocol) => boolean
  /** Called for each open connection: destroys it once the peer has lost its right to it. */
  readonly hold: (socket: TLSSocket) => void
  /** Calls `use` with the new context each time the credentials change. Returns a function that ends this. */
  readonly onChange: (use: (context: SecureContextOptions) => void) => () => void
  /** What the peer lacks, as a clause "which …" that ends a sentence. */
  readonly lacks: string
  /** Why no peer accepts this process now, as a clause; null: nothing is known. */
  readonly ownFault: () => string | null
  /** Why a peer that this process has verified may refuse it, as a clause that ends a sentence. */
  readonly refusal: string
}

/** No session resumption: the secrets of an earlier connection may have been withdrawn. */
export const secureOptions = constants.SSL_OP_NO_TICKET
