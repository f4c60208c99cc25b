import { isIPv4 } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { filterCommands } from "../../../../src/host/linux/packetFilter.ts"
import { cloudServices, specialRanges } from "../../../support/host/linux/specialRanges.ts"

const nameserver = "10.0.2.3"

const program = filterCommands("tap0", nameserver)
  .match(/bytecode "\d+,(.*),"/)![1]!
  .split(",")
  .map((instruction) => instruction.split(" ").map(Number) as [code: number, yes: number, no: number, k: number])

/**
 * The kernel's verdict on a frame.
 * @source Linux Documentation/networking/filter.rst (classic BPF)
 */
const verdictOn = (frame: Buffer): "pass" | "drop" => {
  let accumulator = 0
  for (let at = 0; ; at++) {
    const [code, yes, no, k] = program[at]!
    switch (code) {
      case 0x28:
        accumulator = frame.readUInt16BE(k)
        break
      case 0x20:
        accumulator = frame.readUInt32BE(k)
        break
      case 0x15:
        at += accumulator === k ? yes : no
        break
      case 0x25:
        at += accumulator > k ? yes : no
        break
      case 0x35:
        at += accumulator >= k ? yes : no
        break
      case 0x06:
        return k === 2 ? "drop" : "pass"
      default:
        throw new Error(`an unknown instruction: ${code}`)
    }
  }
}

const frameOf = (etherType: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(14)
  head.writeUInt16BE(etherType, 12)
  return Buffer.concat([head, payload])
}

const numberOf = (address: string) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)

const ipv4To = (destination: number): "pass" | "drop" => {
  const header = Buffer.alloc(20)
  header.writeUInt32BE(destination, 16)
  return verdictOn(frameOf(0x0800, header))
}

const ipv6To = (address: string): "pass" | "drop" => {
  const [before, after = ""] = address.split("::") as [string, string?]
  const groups = (text: string) => text.split(":").filter(Boolean)
  const filled = [
    ...groups(before),
    ...Array(8 - groups(before).length - groups(after).length).fill("0"),
    ...groups(after)
  ]
  const header = Buffer.alloc(40)
  for (const [at, group] of filled.entries()) header.writeUInt16BE(Number.parseInt(group, 16), 24 + 2 * at)
  return verdictOn(frameOf(0x86dd, header))
}

const bounds = specialRanges.map((range) => {
  const [network, bits] = range.split("/") as [string, string]
  const first = numberOf(network)
  return { range, first, last: first + 2 ** (32 - Number(bits)) - 1 }
})
const isSpecial = (address: number) => bounds.some(({ first, last }) => first <= address && address <= last)

describe("packet filter", () => {
  it("drops packets to a special-purpose range or to a group, from its first address to its last, and none beside it", () => {
    for (const { range, first, last } of bounds) {
      const middle = first + Math.floor((last - first) / 2)
      for (const address of new Set([first, Math.min(first + 1, last), middle, Math.max(first, last - 1), last]))
        expect(ipv4To(address), range).toBe("drop")
      for (const beside of [first - 1, last + 1]) {
        if (beside < 0 || beside >= 2 ** 32 || isSpecial(beside)) continue
        expect(ipv4To(beside), `beside ${range}`).toBe("pass")
      }
    }
  })

  it("passes packets to the rest of the Internet, and to the name server", () => {
    for (const address of ["1.1.1.1", "8.8.8.8", "93.184.216.34", "192.88.99.1", nameserver])
      expect(ipv4To(numberOf(address)), address).toBe("pass")
    for (const beside of ["10.0.2.2", "10.0.2.4"]) expect(ipv4To(numberOf(beside)), beside).toBe("drop")
  })

  it("drops packets to every cloud's services for its own machines", () => {
    for (const [cloud, address] of cloudServices)
      expect(isIPv4(address) ? ipv4To(numberOf(address)) : ipv6To(address), `${cloud} ${address}`).toBe("drop")
  })

  it("passes only IPv4 and ARP, and no IPv6 of any purpose", () => {
    for (const address of [
      "2606:4700::1", // anybody's
      "2001:db8::1", // documentation
      "ff02::1", // all of a link
      "fe80::1",
      "100::1", // discarded
      "64:ff9b::a9fe:a9fe", // 169.254.169.254 by NAT64
      "::ffff:a9fe:a9fe"
    ])
      expect(ipv6To(address)).toBe("drop")
    expect(verdictOn(frameOf(0x0806, Buffer.alloc(28)))).toBe("pass")
    for (const other of [0x8100, 0x88cc, 0x8863, 0]) expect(verdictOn(frameOf(other, Buffer.alloc(60)))).toBe("drop")
  })
})
