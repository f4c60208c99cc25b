/**
 * What a certificate calls the host whose it is: `rack-1` for the DNS name `rack-1.atoll-host`. One with the name `atoll-host` alone is anybody's who has
 * it.
 */
import type { X509Certificate } from "node:crypto"
import type { TLSSocket } from "node:tls"

const name = /(?:^|, )DNS:([a-z0-9-]+(?:\.[a-z0-9-]+)*)\.atoll-host(?=,|$)/i

/** As it stands there: no wildcard, and no common name in its place. */
export const isNamed = (certificate: X509Certificate, host: string): boolean =>
  certificate.checkHost(`${host}.atoll-host`, { subject: "never", wildcards: false }) !== undefined

/** Of the other end, whose certificate was checked. Null: it says none, or there is a secret in its place. */
export const hostNameOf = (socket: TLSSocket): string | null => {
  const certificate = socket.getPeerX509Certificate()
  const found = name.exec(certificate?.subjectAltName ?? "")?.[1]?.toLowerCase()
  // Text of another kind of name may look like one.
  return certificate !== undefined && found !== undefined && isNamed(certificate, found) ? found : null
}
