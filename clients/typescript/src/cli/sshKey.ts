/**
 * An Ed25519 key pair in the form that every OpenSSH reads.
 * @source OpenSSH's PROTOCOL.key (openssh-key-v1, without a passphrase); RFC 8709 section 4 (ssh-ed25519)
 */
import { generateKeyPairSync, randomBytes } from "node:crypto"

export interface SshKey {
  /** One line, as in authorized_keys. */
  readonly publicKey: string
  /** A whole file. */
  readonly privateKey: string
}

const kind = "ssh-ed25519"
const comment = "atoll"
/** The part that a passphrase would encrypt. */
const blockBytes = 8

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const string = (value: string | Buffer): Buffer => Buffer.concat([uint32(Buffer.byteLength(value)), Buffer.from(value)])

export const newSshKey = (): SshKey => {
  const { d, x } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" })
  const seed = Buffer.from(d!, "base64url")
  const point = Buffer.from(x!, "base64url")
  const publicBlob = Buffer.concat([string(kind), string(point)])
  const check = randomBytes(4)
  const secret = Buffer.concat([
    check,
    check,
    string(kind),
    string(point),
    string(Buffer.concat([seed, point])),
    string(comment)
  ])
  const padding = Buffer.from(
    Array.from({ length: (blockBytes - (secret.length % blockBytes)) % blockBytes }, (_, at) => at + 1)
  )
  const whole = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    string("none"),
    string("none"),
    string(""),
    uint32(1),
    string(publicBlob),
    string(Buffer.concat([secret, padding]))
  ])
  const lines = whole.toString("base64").match(/.{1,70}/g)!
  return {
    publicKey: `${kind} ${publicBlob.toString("base64")} ${comment}`,
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join("\n")}\n-----END OPENSSH PRIVATE KEY-----\n`
  }
}
