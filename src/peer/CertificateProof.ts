/**
 * Proof by certificates that an authority of the operator's has signed: mutual TLS 1.3. A certificate says by its DNS names what its process is,
 * `atoll-service` or `atoll-host`, and not where it runs. A service may do everything, a host may only make itself known to a service.
 *
 * @source RFC 8446; RFC 6125 (names of services); node:tls
 */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls"
import { Effect } from "effect"
import { followed } from "./followed.ts"
import type { PeerProtocol } from "./PeerSockets.ts"
import { type Proof, secureOptions } from "./Proof.ts"
import { readFileOf, unusable } from "./readPrivate.ts"

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly caFile: string
}

type Name = "atoll-service" | "atoll-host"

const certEnv = "ATOLL_FLEET_CERT_FILE"
const keyEnv = "ATOLL_FLEET_KEY_FILE"
const caEnv = "ATOLL_FLEET_CA_FILE"

interface Door {
  /** Who stands behind it. */
  readonly of: Name
  readonly opensTo: ReadonlyArray<Name>
}

const doors: Readonly<Record<PeerProtocol, Door>> = {
  "atoll-join/1": { of: "atoll-service", opensTo: ["atoll-host", "atoll-service"] },
  "atoll-host/1": { of: "atoll-host", opensTo: ["atoll-service"] },
  "atoll-agent/1": { of: "atoll-host", opensTo: ["atoll-service"] },
  "atoll-actors/1": { of: "atoll-service", opensTo: ["atoll-service"] }
}

/** As it stands there: no wildcard, and no common name in its place. */
const isFor = (certificate: X509Certificate, name: Name): boolean =>
  certificate.checkHost(name, { subject: "never", wildcards: false }) !== undefined

interface Credentials {
  readonly options: SecureContextOptions
  readonly context: SecureContext
  readonly until: string
}

const parsed = Effect.fnUntraced(function* (
  [cert, key, ca]: readonly [string, string, string],
  { certFile, keyFile, caFile }: CertificateFiles,
  own: Name
): Effect.fn.Return<Credentials, ReturnType<typeof unusable>> {
  const certificate = yield* Effect.try({
    try: () => new X509Certificate(cert),
    catch: () => unusable(`${certEnv}, ${certFile}, holds no certificate in PEM.`)
  })
  const privateKey = yield* Effect.try({
    try: () => createPrivateKey(key),
    catch: () => unusable(`${keyEnv}, ${keyFile}, holds no private key in PEM that needs no passphrase.`)
  })
  yield* Effect.try({
    try: () => new X509Certificate(ca),
    catch: () => unusable(`${caEnv}, ${caFile}, holds no certificate in PEM.`)
  })
  if (!certificate.checkPrivateKey(privateKey)) {
    return yield* unusable(
      `The key in ${keyEnv}, ${keyFile}, is not that of the first certificate in ${certEnv}, ${certFile}.`
    )
  }
  if (!isFor(certificate, own)) {
    return yield* unusable(
      `The certificate in ${certEnv}, ${certFile}, is for ${certificate.subjectAltName ?? "no name"}; with this ATOLL_ROLE it must be for DNS:${own}.`
    )
  }
  const options = { cert, key, ca, minVersion: "TLSv1.3", secureOptions } as const
  const context = yield* Effect.try({
    try: () => createSecureContext(options),
    catch: (cause) => unusable(`The certificates in ${certFile} and ${caFile} cannot be used: ${String(cause)}.`)
  })
  return { options, context, until: new Date(certificate.validTo).toISOString() }
})

/** Read again whenever the files change, for as long as the scope lasts. @param role ATOLL_ROLE. */
export const certificateProof = Effect.fnUntraced(function* (
  files: CertificateFiles,
  role: "all" | "service" | "host"
) {
  const own: Name = role === "host" ? "atoll-host" : "atoll-service"
  const listeners = new Set<(context: SecureContextOptions) => void>()
  let current!: Credentials
  yield* followed(
    {
      read: Effect.all([
        readFileOf(certEnv, files.certFile, false),
        readFileOf(keyEnv, files.keyFile, true),
        readFileOf(caEnv, files.caFile, false)
      ]),
      parse: ([cert, key, ca]) => parsed([cert!, key!, ca!], files, own),
      describe: ({ until }) => `This process is ${own} by ${files.certFile}, valid until ${until}`
    },
    (found) => {
      current = found
      for (const use of listeners) use(found.options)
    }
  )
  return {
    client: (protocol) => ({
      secureContext: current.context,
      minVersion: "TLSv1.3",
      rejectUnauthorized: true,
      checkServerIdentity: (_, { raw }) =>
        isFor(new X509Certificate(raw), doors[protocol].of)
          ? undefined
          : new Error(`its certificate is not for ${doors[protocol].of}`)
    }),
    get server() {
      return { ...current.options, requestCert: true, rejectUnauthorized: true }
    },
    mayEnter: (socket, protocol) => {
      const certificate = socket.getPeerX509Certificate()
      return certificate !== undefined && doors[protocol].opensTo.some((name) => isFor(certificate, name))
    },
    onChange: (use) => {
      listeners.add(use)
      return () => listeners.delete(use)
    },
    lacks: `which has a certificate for that by those in ${caEnv}`
  } satisfies Proof as Proof
})
