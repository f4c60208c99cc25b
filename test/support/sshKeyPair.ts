import ssh2 from "ssh2"

/**
 * A pair with a complete public line: ssh2's generator drops the first byte of keys that begin with a zero byte (one in
 * 256).
 */
export const sshKeyPair = (): { readonly private: string; readonly public: string } => {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync("ed25519")
    const isWhole = [pair.public, pair.private].every((key) => !(ssh2.utils.parseKey(key) instanceof Error))
    if (isWhole) return pair
  }
}
