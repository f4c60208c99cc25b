/**
 * What no Sandbox may reach, whatever its runtime: every block that IANA holds for a special purpose and not for the whole Internet (this
 * network, private, shared, loopback, link-local with the cloud's metadata address, protocol assignments, documentation, benchmarks, reserved),
 * multicast, the public numbers at which clouds serve only their own machines, and every address of the host itself. The one list of them;
 * `deploy/kubernetes/network.yaml` repeats it, and a test compares the two.
 *
 * A name that leads to one of these is refused by its address. IPv4 only, for no other packet leaves a Sandbox (`packetFilter.ts`): IPv6 needs no list.
 *
 * @source RFC 6890 and RFC 8190, IANA IPv4 Special-Purpose Address Registry: what is not globally reachable; RFC 5771 (multicast); lab.md "Network on"
 */
import { networkInterfaces } from "node:os"

/**
 * Public numbers that a cloud gives its machines' metadata and internal services: trusted by the machine that asks, and no part of the Internet.
 *
 * @source Azure "What is IP address 168.63.129.16?"; Equinix Metal metadata.platformequinix.com; IBM Cloud "Service endpoints", 161.26.0.0/16 and 166.8.0.0/14
 */
const CLOUD_RANGES = ["161.26.0.0/16", "166.8.0.0/14", "168.63.129.16/32", "192.80.8.124/32"] as const

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
  "240.0.0.0/4",
  ...CLOUD_RANGES
] as const

/** The host's own IPv4 addresses, public ones too. */
export const hostAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address }) => address)
