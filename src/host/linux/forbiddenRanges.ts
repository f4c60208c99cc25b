/**
 * What no Sandbox may reach, whatever its runtime: every block that IANA holds for a special purpose and not for the whole Internet (this
 * network, private, shared, loopback, link-local with the cloud's metadata address, protocol assignments, documentation, benchmarks, reserved),
 * multicast, and every address of the host itself. The one list of them.
 *
 * IPv4 only, for no other packet leaves a Sandbox (`packetFilter.ts`): of IPv6 there is nothing to list.
 *
 * @source RFC 6890 and RFC 8190, IANA IPv4 Special-Purpose Address Registry: what is not globally reachable; RFC 5771 (multicast); lab.md "Network on"
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
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
] as const

/** The host's own IPv4 addresses, public ones too. */
export const hostAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address }) => address)
