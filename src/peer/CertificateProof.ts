/**
 * Proof by certificates that the operator's authority has signed: mutual TLS 1.3. A certificate states by its DNS names the role of its process,
 * `atoll-service` or `atoll-host`, and not where it runs. A further name may identify a host, and a caller of that host then accepts no other. A
 * service may do everything; a host may only register with a service. A revoked certificate opens no connection, and its open connections are closed.
 *
 * @source RFC 8446; RFC 6125 (names of services); node:tls
 */
import { createPrivateKey, X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContext, type SecureContextOptions, type TLSSocket } from "node:tls"
import { Effect } from "effect"
import { worker } from "../platform/worker/Worker.ts"
import { followed } from "./followed.ts"
import { isNamed } from "./hostName.ts"
import type { PeerProtocol } from "./PeerSockets.ts"
import { type Proof, secureOptions } from "./Proof.ts"
import { readFileOf, unusable } from "./readPrivate.ts"
import { revokedEnv, revokedIn } from "./revoked.ts"

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly caFile: string
  /** A file of revoked fingerprints; null when none is revoked. */
  readonly revokedFile: string | null
}

type Name = "atoll-service" | "atoll-host"

const certEnv = "ATOLL_FLEET_CERT_FILE"
const keyEnv = "ATOLL_FLEET_KEY_FILE"
const caEnv = "ATOLL_FLEET_CA_FILE"

interface ProtocolRoles {
  /** The role that serves this protocol. */
  readonly of: Name
  readonly opensTo: ReadonlyArray<Name>
}

const protocolRoles: Readonly<Record<PeerProtocol, ProtocolRoles>> = {
  "atoll-join/1": { of: "atoll-service", opensTo: ["atoll-host", "atoll-service"] },
  "atoll-host/1": { of: "atoll-host", opensTo: ["atoll-service"] },
  "atoll-agent/1": { of: "atoll-host", opensTo: ["atoll-service"] },
  "atoll-snapshot/1": { of: "atoll-host", opensTo: ["atoll-service"] },
  "atoll-actors/1": { of: "atoll-service", opensTo: ["atoll-service"] }
}

/** Exact match: no wildcard, and no common name instead. */
const isFor = (certificate: X509Certificate, name: Name): boolean =>
  certificate.checkHost(name, { subject: "never", wildcards: false }) !== undefined

interface Credentials {
  readonly options: SecureContextOptions
  readonly context: SecureContext
  /** Epoch milliseconds between which the certificate is valid. */
  readonly validFrom: number
  readonly validUntil: number
  /** SHA-256 fingerprints. */
  readonly revoked: ReadonlySet<string>
}

const parsed = Effect.fnUntraced(function* (
  [cert, key, ca, denied]: readonly [string, string, string, string],
  { certFile, keyFile, caFile, revokedFile }: CertificateFiles,
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
  const revoked = yield* revokedIn(revokedFile ?? "", denied)
  const [validFrom, validUntil] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  return { options, context, validFrom, validUntil, revoked }
})

const iso = (ms: number): string => new Date(ms).toISOString()

const day = 24 * 3_600_000

/** A certificate that is renewed every day is not reported each time. */
const reportedBeforeMs = ({ validFrom, validUntil }: Credentials): number =>
  Math.min(7 * day, (validUntil - validFrom) / 4)

/** What is the matter with the time of this process's certificate: a clause, and whether it is refused by all. */
const timeFault = (credentials: Credentials, certFile: string, now: number) => {
  const { validFrom, validUntil } = credentials
  const name = `this process's certificate, ${certEnv}, ${certFile},`
  if (now < validFrom) return { isRefused: true, clause: `${name} is not valid before ${iso(validFrom)}` }
  if (now >= validUntil) return { isRefused: true, clause: `${name} has expired at ${iso(validUntil)}` }
  return now >= validUntil - reportedBeforeMs(credentials)
    ? { isRefused: false, clause: `${name} expires at ${iso(validUntil)}` }
    : null
}

const reportEveryMs = 1000

/** Warns once of each fault of the time of the present certificate. */
const reportTime = (fault: () => ReturnType<typeof timeFault>) =>
  Effect.gen(function* () {
    let told: string | null = null
    const look = Effect.suspend(() => {
      const clause = fault()?.clause ?? null
      const isNew = clause !== null && clause !== told
      told = clause
      return isNew
        ? Effect.logWarning(
            `${clause[0]!.toUpperCase()}${clause.slice(1)}. Put a new certificate and its key in place.`
          )
        : Effect.void
    })
    yield* worker("fleet certificate", Effect.forever(Effect.andThen(look, Effect.sleep(reportEveryMs))))
  })

/** Read again whenever the files change, until the scope closes. @param role ATOLL_ROLE. */
export const certificateProof = Effect.fnUntraced(function* (
  files: CertificateFiles,
  role: "all" | "service" | "host"
) {
  const own: Name = role === "host" ? "atoll-host" : "atoll-service"
  const listeners = new Set<(context: SecureContextOptions) => void>()
  const open = new Map<TLSSocket, X509Certificate>()
  let current!: Credentials
  yield* followed(
    {
      read: Effect.all([
        readFileOf(certEnv, files.certFile, false),
        readFileOf(keyEnv, files.keyFile, true),
        readFileOf(caEnv, files.caFile, false),
        files.revokedFile === null ? Effect.succeed("") : readFileOf(revokedEnv, files.revokedFile, false)
      ]),
      parse: ([cert, key, ca, revoked]) => parsed([cert!, key!, ca!, revoked!], files, own),
      describe: ({ validUntil, revoked: { size } }) =>
        `This process is ${own} by ${files.certFile}, valid until ${iso(validUntil)}${size === 0 ? "" : `; ${size} certificates are revoked`}`
    },
    (found) => {
      current = found
      for (const use of listeners) use(found.options)
      for (const [socket, { fingerprint256 }] of open) if (found.revoked.has(fingerprint256)) socket.destroy()
    }
  )
  const fault = () => timeFault(current, files.certFile, Date.now())
  yield* reportTime(fault)
  return {
    client: (protocol, name) => ({
      secureContext: current.context,
      minVersion: "TLSv1.3",
      rejectUnauthorized: true,
      checkServerIdentity: (_, { raw }) => {
        const certificate = new X509Certificate(raw)
        if (current.revoked.has(certificate.fingerprint256)) return new Error("its certificate is revoked")
        if (!isFor(certificate, protocolRoles[protocol].of))
          return new Error(`its certificate is not for ${protocolRoles[protocol].of}`)
        return name === null || isNamed(certificate, name) ? undefined : new Error(`its certificate is not for ${name}`)
      }
    }),
    get server() {
      return { ...current.options, requestCert: true, rejectUnauthorized: true }
    },
    mayEnter: (socket, protocol) => {
      const certificate = socket.getPeerX509Certificate()
      return (
        certificate !== undefined &&
        !current.revoked.has(certificate.fingerprint256) &&
        protocolRoles[protocol].opensTo.some((name) => isFor(certificate, name))
      )
    },
    hold: (socket) => {
      const certificate = socket.getPeerX509Certificate()
      if (certificate === undefined || socket.destroyed) return
      open.set(socket, certificate)
      socket.once("close", () => open.delete(socket))
      // It may have been revoked during the handshake.
      if (current.revoked.has(certificate.fingerprint256)) socket.destroy()
    },
    onChange: (use) => {
      listeners.add(use)
      return () => listeners.delete(use)
    },
    lacks: `which has a certificate for that by those in ${caEnv}`,
    ownFault: () => {
      const found = fault()
      return found?.isRefused ? found.clause : null
    },
    refusal: ", or it refuses this process's certificate, which may be revoked there or by another authority"
  } satisfies Proof as Proof
})
