/**
 * Bounds what may leave a network namespace, also for sockets that bypass the routes. A program that names the device itself (SO_BINDTODEVICE,
 * IP_MULTICAST_IF, IP_PKTINFO) skips the route lookup, and slirp4netns forwards its multicast to the host and the host's network.
 *
 * A classic BPF program on the device's egress, for `tc -batch`: it passes only ARP and IPv4, and drops packets to a forbidden range except to the
 * name server.
 *
 * @source tc-bpf(8); Linux net/ipv4/route.c, ip_route_output_key_hash_rcu
 */
import { FORBIDDEN_RANGES } from "./forbiddenRanges.ts"

const ETHERTYPE_OFFSET = 12
const DESTINATION_OFFSET = 14 + 16
const ARP = 0x0806
const IPV4 = 0x0800
const PASS = 0
const DROP = 2

const LOAD_HALF = 0x28
const LOAD_WORD = 0x20
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const IF_GREATER = 0x25
const RETURN = 0x06

const numberOf = (address: string): number => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)

/** Lines for `tc -batch`. */
export const filterCommands = (device: string, nameserver: string): string => {
  const ranges = FORBIDDEN_RANGES.flatMap((range) => {
    const [network, bits] = range.split("/") as [string, string]
    const first = numberOf(network)
    return [
      `${IF_AT_LEAST} 0 2 ${first}`,
      `${IF_GREATER} 1 0 ${first + 2 ** (32 - Number(bits)) - 1}`,
      `${RETURN} 0 0 ${DROP}`
    ]
  })
  const instructions = [
    `${LOAD_HALF} 0 0 ${ETHERTYPE_OFFSET}`,
    `${IF_EQUAL} 2 0 ${ARP}`,
    `${IF_EQUAL} 2 0 ${IPV4}`,
    `${RETURN} 0 0 ${DROP}`,
    `${RETURN} 0 0 ${PASS}`,
    `${LOAD_WORD} 0 0 ${DESTINATION_OFFSET}`,
    `${IF_EQUAL} 0 1 ${numberOf(nameserver)}`,
    `${RETURN} 0 0 ${PASS}`,
    ...ranges,
    `${RETURN} 0 0 ${PASS}`
  ]
  return [
    `qdisc add dev ${device} clsact`,
    `filter add dev ${device} egress protocol all bpf da bytecode "${instructions.length},${instructions.join(",")},"`,
    ""
  ].join("\n")
}
