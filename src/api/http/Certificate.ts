/**
 * The certificate and key of the HTTPS listener: read at start, and again whenever the files change.
 *
 * Both files are read once a second. That also finds files that are swapped by a link or within the clock's resolution, and lets certificate and
 * key change one after the other. If the new files are unusable, the previous certificate stays.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { Server } from "node:http"
import { createSecureContext, Server as TlsServer } from "node:tls"
import { Clock, Effect, Schema } from "effect"
import { type SettingsShape, SettingsUnusable } from "../../Config.ts"
import { worker } from "../../platform/worker/Worker.ts"

const lookEveryMs = 1000

/** The files have no usable certificate and key. `message` is a sentence for the operator, without any part of the key. */
export class CertificateUnusable extends Schema.TaggedError<CertificateUnusable>()("CertificateUnusable", {
  message: Schema.String
}) {}

export interface Files {
  readonly certFile: string
  readonly keyFile: string
}

/** PEM. */
export interface CertificateAndKey {
  readonly cert: string
  readonly key: string
}

/** Null: no HTTPS. */
export const certificateFiles = ({
  tlsCertFile: certFile,
  tlsKeyFile: keyFile
}: Pick<SettingsShape, "tlsCertFile" | "tlsKeyFile">): Effect.Effect<Files | null, SettingsUnusable> => {
  if (certFile !== null && keyFile !== null) return Effect.succeed({ certFile, keyFile })
  if (certFile === null && keyFile === null) return Effect.succeed(null)
  const [cert, key] = ["ATOLL_TLS_CERT_FILE", "ATOLL_TLS_KEY_FILE"]
  const message = keyFile === null ? `${cert} needs ${key} beside it.` : `${key} needs ${cert} beside it.`
  return Effect.fail(new SettingsUnusable({ message }))
}

const unusable = (message: string) => new CertificateUnusable({ message })

const whyUnreadable: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "Atoll's user may not read it",
  EISDIR: "it is a folder"
}

const text = (env: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (cause) => {
      const code = String((cause as NodeJS.ErrnoException).code)
      return unusable(`${env}, ${path}, cannot be read: ${whyUnreadable[code] ?? code}.`)
    }
  })

const read = ({ certFile, keyFile }: Files): Effect.Effect<CertificateAndKey, CertificateUnusable> =>
  Effect.all({ cert: text("ATOLL_TLS_CERT_FILE", certFile), key: text("ATOLL_TLS_KEY_FILE", keyFile) })

/** The server's certificate: the first in the file. */
const parsed = (
  { cert, key }: CertificateAndKey,
  { certFile, keyFile }: Files
): Effect.Effect<X509Certificate, CertificateUnusable> =>
  Effect.gen(function* () {
    const x509 = yield* Effect.try({
      try: () => new X509Certificate(cert),
      catch: () => unusable(`ATOLL_TLS_CERT_FILE, ${certFile}, holds no certificate in PEM.`)
    })
    const privateKey: KeyObject = yield* Effect.try({
      try: () => createPrivateKey(key),
      catch: () => unusable(`ATOLL_TLS_KEY_FILE, ${keyFile}, holds no private key in PEM that needs no passphrase.`)
    })
    if (!x509.checkPrivateKey(privateKey)) {
      return yield* unusable(
        `The key in ATOLL_TLS_KEY_FILE, ${keyFile}, is not that of the first certificate in ATOLL_TLS_CERT_FILE, ${certFile}.`
      )
    }
    yield* Effect.try({
      try: () => createSecureContext({ cert, key }),
      catch: (cause) => unusable(`The certificate in ${certFile} cannot be served: ${String(cause)}.`)
    })
    return x509
  })

/** Logs facts about the certificate for the operator. */
const describe = Effect.fnUntraced(function* (x509: X509Certificate, previewDomain: string) {
  const names = x509.subjectAltName ?? x509.subject
  const from = Date.parse(x509.validFrom)
  const until = Date.parse(x509.validTo)
  const now = yield* Clock.currentTimeMillis
  yield* Effect.log(`HTTPS with a certificate for ${names}, valid until ${new Date(until).toISOString()}`)
  if (until <= now || from > now) {
    yield* Effect.logWarning(
      `The certificate is ${until <= now ? "no longer" : "not yet"} valid (from ${x509.validFrom} to ${x509.validTo}): clients will refuse it.`
    )
  }
  if (x509.checkHost(`x.${previewDomain}`) === undefined) {
    yield* Effect.logWarning(
      `The certificate is not for *.${previewDomain} (ATOLL_PREVIEW_DOMAIN): browsers will refuse previews. Add that name to it.`
    )
  }
})

/** The present files, if they are usable. */
export const readCertificate = Effect.fnUntraced(function* (files: Files, previewDomain: string) {
  const found = yield* read(files)
  yield* describe(yield* parsed(found, files), previewDomain)
  return found
})

/** @param first The certificate in use. Open connections keep the certificate that they began with. */
export const followCertificate = (server: Server, files: Files, first: CertificateAndKey, previewDomain: string) => {
  if (!(server instanceof TlsServer)) throw new Error("Only a server of HTTPS has a certificate.")
  let served = first
  /** The fault of the last check. The files may be half written, so it is logged only if two checks find it. */
  let fault = { sentence: "", isTold: false }
  const look = Effect.gen(function* () {
    const found = yield* read(files)
    if (found.cert !== served.cert || found.key !== served.key) {
      const x509 = yield* parsed(found, files)
      server.setSecureContext(found)
      served = found
      yield* describe(x509, previewDomain)
    }
    fault = { sentence: "", isTold: false }
  }).pipe(
    Effect.catchTag("CertificateUnusable", ({ message }) => {
      const isSeenAgain = fault.sentence === message
      const tells = isSeenAgain && !fault.isTold
      fault = { sentence: message, isTold: isSeenAgain }
      return tells ? Effect.logWarning(`${message} The previous certificate stays in use.`) : Effect.void
    })
  )
  return worker("certificate", Effect.forever(Effect.andThen(Effect.sleep(lookEveryMs), look)))
}
