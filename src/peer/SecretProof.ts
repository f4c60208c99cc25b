/**
 * Proof by a secret that all processes of a fleet have in a file: TLS with a pre-shared key that is derived from it. The secret itself is never sent,
 * and recorded traffic cannot be decrypted if the secret leaks later.
 *
 * A key's name is also derived from its secret. A file may hold several secrets, one per line: all are accepted and the first is used, so a fleet
 * changes its secret without a moment in which two processes reject each other.
 *
 * @source RFC 8446 (psk_dhe_ke; the hash of a key that is given so is SHA-256, 4.2.11), RFC 5869 (HKDF)
 */
import { hkdfSync } from "node:crypto"
import { Effect } from "effect"
import { followed } from "./followed.ts"
import { type Proof, secureOptions } from "./Proof.ts"
import { readFileOf, unusable } from "./readPrivate.ts"

const env = "ATOLL_FLEET_SECRET_FILE"
const secretCharactersMin = 32
const secretsMax = 16

const tls = {
  ciphers: "TLS_AES_128_GCM_SHA256",
  minVersion: "TLSv1.3",
  maxVersion: "TLSv1.3",
  secureOptions
} as const

interface NamedKey {
  readonly identity: string
  readonly psk: Buffer
}

const derive = (secret: string, purpose: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", secret, "", purpose, bytes))

const keyOf = (secret: string): NamedKey => ({
  identity: `atoll-${derive(secret, "atoll fleet: name of the key", 8).toString("hex")}`,
  psk: derive(secret, "atoll fleet: key", 32)
})

const parsed = (path: string, text: string): Effect.Effect<ReadonlyArray<NamedKey>, ReturnType<typeof unusable>> => {
  const secrets = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
  if (secrets.length === 0) {
    return Effect.fail(unusable(`${env}, ${path}, holds no secret. Make one: openssl rand -hex 32`))
  }
  if (secrets.length > secretsMax) {
    return Effect.fail(unusable(`${env}, ${path}, holds more than ${secretsMax} secrets, a line each.`))
  }
  const short = secrets.findIndex((secret) => secret.length < secretCharactersMin)
  return short === -1
    ? Effect.succeed(secrets.map(keyOf))
    : Effect.fail(
        unusable(
          `Secret ${short + 1} in ${env}, ${path}, has fewer than ${secretCharactersMin} characters. Make one: openssl rand -hex 32`
        )
      )
}

/** Read again whenever the file changes, until the scope closes. */
export const secretProof = Effect.fnUntraced(function* (path: string) {
  let keys: ReadonlyArray<NamedKey> = []
  yield* followed(
    {
      read: Effect.map(readFileOf(env, path, true), (text) => [text]),
      parse: ([text]) => parsed(path, text!),
      describe: ({ length }) =>
        `The fleet's secret is read from ${path}${length === 1 ? "" : `: ${length} are accepted, the first is used`}`
    },
    (found) => {
      keys = found
    }
  )
  return {
    client: () => ({
      ...tls,
      pskCallback: () => keys[0]!,
      // There is no certificate: a process with the key belongs to this fleet.
      checkServerIdentity: () => undefined
    }),
    server: { ...tls, pskCallback: (_, claimed) => keys.find(({ identity }) => identity === claimed)?.psk ?? null },
    mayEnter: () => true,
    // A secret does not identify the peer, so a single connection cannot be revoked.
    hold: () => {},
    onChange: () => () => {},
    lacks: `which has this one's secret (${env})`,
    ownFault: () => null,
    refusal: ""
  } satisfies Proof as Proof
})
