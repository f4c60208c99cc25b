/**
 * The identity and address of the SSH gateway: its host key, the same in every process and after every restart, and where it listens.
 *
 * @source OpenSSH PROTOCOL.key (openssh-key-v1), RFC 8032 (Ed25519), RFC 8410 section 7
 */
import { createPrivateKey, createPublicKey } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { Settings } from "../../Config.ts"
import { serverKey } from "../../store/ServerKeys.ts"

const keyType = "ssh-ed25519"
/** PKCS #8 of an Ed25519 key, before its 32 bytes of seed. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

const string = (value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

interface HostKey {
  /** For ssh2. */
  readonly privateKey: string
  /** One OpenSSH public-key line. */
  readonly publicLine: string
}

export const hostKeyOf = (seed: Buffer): HostKey => {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" })
  const publicBytes = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32)
  const publicBlob = Buffer.concat([string(keyType), string(publicBytes)])
  const secret = [uint32(0), uint32(0), string(keyType), string(publicBytes)]
  const unpadded = Buffer.concat([...secret, string(Buffer.concat([seed, publicBytes])), string("")])
  const padding = Buffer.from(Array.from({ length: (8 - (unpadded.length % 8)) % 8 }, (_, at) => at + 1))
  const blob = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    ...[string("none"), string("none"), string(""), uint32(1), string(publicBlob)],
    string(Buffer.concat([unpadded, padding]))
  ])
  const lines = blob.toString("base64").replace(/.{70}/g, "$&\n")
  return {
    privateKey: `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines}\n-----END OPENSSH PRIVATE KEY-----\n`,
    publicLine: `${keyType} ${publicBlob.toString("base64")}`
  }
}

/**
 * The host name that clients receive. A gateway that listens on all addresses reports the host of the public URL, because a wildcard address cannot
 * be dialled.
 */
export const toldHost = (sshHost: string, publicUrl: string | null): string => {
  if (sshHost !== "0.0.0.0" && sshHost !== "::") return sshHost
  return publicUrl === null ? "127.0.0.1" : new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, "$1")
}

export class SshEndpoint extends Context.Service<
  SshEndpoint,
  {
    readonly hostKey: HostKey
    readonly host: string
    readonly port: () => number
    readonly setPort: (port: number) => void
  }
>()("atoll/access/ssh/SshEndpoint") {
  static readonly layer = Layer.effect(
    SshEndpoint,
    Effect.gen(function* () {
      const { sshHost, sshPort, publicUrl } = yield* Settings
      let port = sshPort
      return SshEndpoint.of({
        hostKey: hostKeyOf(yield* serverKey("ssh-host")),
        host: toldHost(sshHost, publicUrl),
        port: () => port,
        setPort: (listening) => {
          port = listening
        }
      })
    })
  )
}
