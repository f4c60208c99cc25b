/**
 * Addresses that no Sandbox may reach, under any runtime: every block that IANA reserves for a special purpose and not for the whole Internet (this
 * network, private, shared, loopback, link-local with the cloud's metadata address, protocol assignments, documentation, benchmarks, reserved),
 * multicast, the public addresses at which clouds serve only their own machines, and every address of the host itself. This is the only list;
 * `deploy/kubernetes/network.yaml` repeats it, and a test compares the two.
 *
 * A host name that resolves to such an address is blocked by the address. The list is IPv4 only, because no other packet leaves a Sandbox
 * (`packetFilter.ts`).
 *
 * @source RFC 6890 and RFC 8190, IANA IPv4 Special-Purpose Address Registry: what is not globally reachable; RFC 5771 (multicast); lab.md "Network on"
 */
import { networkInterfaces } from "node:os"

/**
 * Public addresses of a cloud's metadata and internal services. The cloud trusts the machine that asks, and the Internet does not reach them.
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

/** The host's own IPv4 addresses, including public ones. */
export const hostAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address }) => address)
