/** PeerSockets according to the settings: with the fleet's secret, or with certificates. */
import { Effect, Layer } from "effect"
import { Settings, type SettingsShape, SettingsUnusable } from "../Config.ts"
import { type CertificateFiles, certificateProof } from "./CertificateProof.ts"
import { dial } from "./dial.ts"
import { PeerSockets } from "./PeerSockets.ts"
import { listen } from "./peerListener.ts"
import { secretProof } from "./SecretProof.ts"

type Credentials =
  | { readonly kind: "secret"; readonly file: string }
  | { readonly kind: "certificates"; readonly files: CertificateFiles }

const unusable = (message: string) => Effect.fail(new SettingsUnusable({ message }))

/** Null when neither is set. */
export const fleetCredentials = ({
  fleetSecretFile,
  fleetCertFile: certFile,
  fleetKeyFile: keyFile,
  fleetCaFile: caFile,
  fleetRevokedFile: revokedFile
}: SettingsShape): Effect.Effect<Credentials | null, SettingsUnusable> => {
  const isComplete = certFile !== null && keyFile !== null && caFile !== null
  const isEmpty = certFile === null && keyFile === null && caFile === null
  if (!isEmpty && !isComplete) {
    return unusable("ATOLL_FLEET_CERT_FILE, ATOLL_FLEET_KEY_FILE and ATOLL_FLEET_CA_FILE need each other.")
  }
  if (isComplete && fleetSecretFile !== null) {
    return unusable("Set ATOLL_FLEET_SECRET_FILE or ATOLL_FLEET_CERT_FILE, not both.")
  }
  if (revokedFile !== null && !isComplete) {
    return unusable("ATOLL_FLEET_REVOKED_FILE is of certificates, and none is set. A secret is changed in its file.")
  }
  if (isComplete) return Effect.succeed({ kind: "certificates", files: { certFile, keyFile, caFile, revokedFile } })
  return Effect.succeed(fleetSecretFile === null ? null : { kind: "secret", file: fleetSecretFile })
}

export const PeerSocketsLive = {
  /** Needs Settings. Fails with SettingsUnusable when neither is set, and with PeerUnusable when the secret or certificates are unusable. */
  layer: Layer.effect(
    PeerSockets,
    Effect.gen(function* () {
      const settings = yield* Settings
      const credentials = yield* fleetCredentials(settings)
      if (credentials === null) {
        return yield* unusable(
          `ATOLL_ROLE=${settings.role} needs ATOLL_FLEET_SECRET_FILE, the same on every service and host: openssl rand -hex 32 > secret; chmod 600 secret. Or certificates: ATOLL_FLEET_CERT_FILE.`
        )
      }
      const proof = yield* credentials.kind === "secret"
        ? secretProof(credentials.file)
        : certificateProof(credentials.files, settings.role)
      return PeerSockets.of({
        connect: (to, protocol) => dial(proof, to, protocol),
        listen: (at, handlers) => listen(proof, at, handlers)
      })
    })
  )
}
