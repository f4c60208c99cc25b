/**
 * What no Sandbox may reach, whatever its runtime: this network, private, shared, loopback, link-local (the cloud's metadata address), protocol
 * assignments, benchmarks, multicast and reserved addresses; and every address of the host itself. The one list of them.
 *
 * @source RFC 6890, RFC 6598, RFC 2544; lab.md "Network on"
 */
import { networkInterfaces } from "node:os"

export const FORBIDDEN_RANGES = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4"
] as const

/** The host's own IPv4 addresses, public ones too. */
export const hostAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address }) => address)
