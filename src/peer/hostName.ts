/** The host name in a certificate: `rack-1` for the DNS name `rack-1.atoll-host`. A certificate with only `atoll-host` is valid for every host. */
import type { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"

const name = /(?:^|, )DNS:([a-z0-9-]+(?:\.[a-z0-9-]+)*)\.atoll-host(?=,|$)/i

/** Exact match: no wildcard, and no common name instead. */
export const isNamed = (certificate: X509Certificate, host: string): boolean =>
  certificate.checkHost(`${host}.atoll-host`, { subject: "never", wildcards: false }) !== undefined

/** The name in the peer's verified certificate. Null when it has none, or the fleet uses a secret. */
export const hostNameOf = (socket: TLSSocket): string | null => {
  const certificate = socket.getPeerX509Certificate()
  const found = name.exec(certificate?.subjectAltName ?? "")?.[1]?.toLowerCase()
  // An entry of another kind may contain text that looks like a DNS name.
  return certificate !== undefined && found !== undefined && isNamed(certificate, found) ? found : null
}
