/**
 * What a certificate calls the host whose it is: `rack-1` for the DNS name `rack-1.atoll-host`. One with the name `atoll-host` alone is anybody's who has
 * it.
 */
import type { TLSSocket } from "node:tls"

const name = /(?:^|, )DNS:([a-z0-9-]+(?:\.[a-z0-9-]+)*)\.atoll-host(?=,|$)/i

/** Of the other end, whose certificate was checked. Null: it says none, or there is a secret in its place. */
export const hostNameOf = (socket: TLSSocket): string | null =>
  name.exec(socket.getPeerX509Certificate()?.subjectAltName ?? "")?.[1]?.toLowerCase() ?? null
