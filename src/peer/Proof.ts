/** How a process proves to others of its fleet that it is one of them, and how it knows that they are: a secret, or certificates. */
import { constants } from "node:crypto"
import type { ConnectionOptions, SecureContextOptions, TLSSocket, TlsOptions } from "node:tls"
import type { PeerProtocol } from "./PeerSockets.ts"

export interface Proof {
  /** Asked for each connection that is made. `name`: of the host that is meant; null: any. */
  readonly client: (protocol: PeerProtocol, name: string | null) => ConnectionOptions
  readonly server: TlsOptions
  /** Of a connection whose handshake is done: whether whoever dials may use that door. */
  readonly mayEnter: (socket: TLSSocket, protocol: PeerProtocol) => boolean
  /** Of each connection that is open: it is destroyed once the other end has lost its right to it. */
  readonly hold: (socket: TLSSocket) => void
  /** What a server that listens takes over from then on, each time that it changes. Returns how to end that. */
  readonly onChange: (use: (context: SecureContextOptions) => void) => () => void
  /** What the other end has not, as "which …" ends a sentence. */
  readonly lacks: string
}

/** No connection goes on from the secrets of one before it: those may be withdrawn by now. */
export const secureOptions = constants.SSL_OP_NO_TICKET
