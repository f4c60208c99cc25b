import ssh2 from "ssh2"
import { expect, it } from "vitest"
import { canonicalKey } from "../../../../src/access/ssh/publicKeys.ts"

const rsa = (bits: number): string => ssh2.utils.generateKeyPairSync("rsa", { bits }).public
const ecdsa = ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 }).public

it.each([
  ["RSA of 3072 bits", rsa(3072), true],
  ["RSA of 2048 bits", rsa(2048), false],
  ["ECDSA", ecdsa, true],
  ["a private key", ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 }).private, false],
  ["no key", "ssh-rsa AAAA", false]
])("a public key is taken by its type and strength: %s", (_, line, isTaken) => {
  expect(canonicalKey(line) !== null).toBe(isTaken)
})

it("a public key has one spelling, without its comment", () => {
  const [type, body] = ecdsa.split(" ")
  expect(canonicalKey(`  ${type} ${body} somebody@host\n`)).toBe(`${type} ${body}`)
})
