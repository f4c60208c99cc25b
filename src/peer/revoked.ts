/**
 * Reads revoked certificates, by their SHA-256 fingerprints. The list is the operator's own format instead of a CRL: a CRL expires, and after that no
 * process of the fleet would be accepted.
 */
import { Effect } from "effect"
import { unusable } from "./readPrivate.ts"

export const revokedEnv = "ATOLL_FLEET_REVOKED_FILE"

/** As `openssl x509 -noout -fingerprint -sha256` prints it, or its 64 digits alone. */
const line = /^(?:sha256 fingerprint=)?((?:[0-9a-f]{2}:?){31}[0-9a-f]{2})(?:\s*#.*)?$/i

/** In node:tls's form: upper case, with colons. */
export const revokedIn = (path: string, text: string) => {
  const lines = text.split("\n").map((it) => it.trim())
  const fingerprints = lines.flatMap((it) => line.exec(it)?.[1]?.replaceAll(":", "").toUpperCase() ?? [])
  const fault = lines.findIndex((it) => it !== "" && !it.startsWith("#") && !line.test(it))
  return fault === -1
    ? Effect.succeed<ReadonlySet<string>>(new Set(fingerprints.map((it) => it.match(/../g)!.join(":"))))
    : Effect.fail(
        unusable(
          `Line ${fault + 1} of ${revokedEnv}, ${path}, is no SHA-256 fingerprint: openssl x509 -noout -fingerprint -sha256 -in FILE prints one.`
        )
      )
}
