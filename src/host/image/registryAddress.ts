/**
 * Which addresses an image may be read from. A name is resolved here, once, and the connection goes to the address that was checked: another answer of
 * its name server cannot lead it to a private network.
 */
import { lookup } from "node:dns/promises"
import { BlockList, isIP } from "node:net"
import { FORBIDDEN_RANGES, hostAddresses } from "../linux/forbiddenRanges.ts"
import { forbiddenAddress, noRegistry, registryFailed } from "./imageRefusals.ts"

/** `host[:port]` of registries that the operator allows to have private addresses, or no TLS. */
export type AllowedRegistries = ReadonlySet<string>

export const isAllowed = (allowed: AllowedRegistries, url: URL): boolean =>
  allowed.has(url.host) || (url.port === "" && allowed.has(`${url.host}:${url.protocol === "https:" ? 443 : 80}`))

const isForbidden = (address: string): boolean => {
  const list = new BlockList()
  for (const range of FORBIDDEN_RANGES) {
    const [network, bits] = range.split("/")
    list.addSubnet(network!, Number(bits), "ipv4")
  }
  for (const own of hostAddresses()) list.addAddress(own, "ipv4")
  return list.check(address, "ipv4")
}

const NO_ADDRESS: ReadonlySet<string | undefined> = new Set(["ENOTFOUND", "ENODATA"])

/** The IPv4 addresses of a name. */
export type Resolve = (name: string) => Promise<ReadonlyArray<string>>

const resolved: Resolve = async (name) => (await lookup(name, { family: 4, all: true })).map(({ address }) => address)

/** The address for a connection to this URL. Rejects with a RuntimeRefused or RuntimeUnavailable. */
export const checkedAddress = async (url: URL, allowed: AllowedRegistries, resolve = resolved): Promise<string> => {
  const isNamed = isAllowed(allowed, url)
  if (!["http:", "https:"].includes(url.protocol) || (url.protocol === "http:" && !isNamed)) throw forbiddenAddress()
  const family = isIP(url.hostname)
  // A bracketed address is IPv6.
  if (url.hostname.startsWith("[")) throw forbiddenAddress()
  const addresses =
    family === 4
      ? [url.hostname]
      : await resolve(url.hostname).catch((cause: NodeJS.ErrnoException) => {
          throw NO_ADDRESS.has(cause.code) ? noRegistry() : registryFailed(`${url.hostname}: ${cause.message}`)
        })
  const [first] = addresses
  if (first === undefined) throw noRegistry()
  if (!isNamed && addresses.some(isForbidden)) throw forbiddenAddress()
  return first
}
