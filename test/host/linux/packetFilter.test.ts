import { describe, expect, it } from "@effect/vitest"
import { filterCommands } from "../../../src/host/linux/packetFilter.ts"
import { specialRanges } from "./specialRanges.ts"

const nameserver = "10.0.2.3"

const program = filterCommands("tap0", nameserver)
  .match(/bytecode "\d+,(.*),"/)![1]!
  .split(",")
  .map((instruction) => instruction.split(" ").map(Number) as [code: number, yes: number, no: number, k: number])

/**
 * What the kernel makes of it.
 *
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

const bounds = specialRanges.map((range) => {
  const [network, bits] = range.split("/") as [string, string]
  const first = numberOf(network)
  return { range, first, last: first + 2 ** (32 - Number(bits)) - 1 }
})
const isSpecial = (address: number) => bounds.some(({ first, last }) => first <= address && address <= last)

describe("packet filter", () => {
  it("drops what goes to a range of a special purpose or to a group, from its first address to its last, and nothing beside it", () => {
    for (const { range, first, last } of bounds) {
      const middle = first + Math.floor((last - first) / 2)
      for (const address of [first, first + 1, middle, last - 1, last]) expect(ipv4To(address), range).toBe("drop")
      for (const beside of [first - 1, last + 1]) {
        if (beside < 0 || beside >= 2 ** 32 || isSpecial(beside)) continue
        expect(ipv4To(beside), `beside ${range}`).toBe("pass")
      }
    }
  })

  it("lets through to the rest of the Internet, and to the name server", () => {
    for (const address of ["1.1.1.1", "8.8.8.8", "93.184.216.34", "192.88.99.1", nameserver])
      expect(ipv4To(numberOf(address)), address).toBe("pass")
    for (const beside of ["10.0.2.2", "10.0.2.4"]) expect(ipv4To(numberOf(beside)), beside).toBe("drop")
  })

  it("lets no IPv6 out, whatever it is for, and nothing else but IPv4 and ARP", () => {
    const ipv6To = (address: ReadonlyArray<number>) => {
      const header = Buffer.alloc(40)
      for (const [at, group] of address.entries()) header.writeUInt16BE(group, 24 + 2 * at)
      return verdictOn(frameOf(0x86dd, header))
    }
    for (const address of [
      [0x2606, 0x4700, 0, 0, 0, 0, 0, 1], // anybody's
      [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], // documentation
      [0xff02, 0, 0, 0, 0, 0, 0, 1], // all of a link
      [0xfe80, 0, 0, 0, 0, 0, 0, 1],
      [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
      [0x100, 0, 0, 0, 0, 0, 0, 1], // discarded
      [0x64, 0xff9b, 0, 0, 0, 0, 0xa9fe, 0xa9fe], // 169.254.169.254 by NAT64
      [0, 0, 0, 0, 0, 0xffff, 0xa9fe, 0xa9fe]
    ])
      expect(ipv6To(address)).toBe("drop")
    expect(verdictOn(frameOf(0x0806, Buffer.alloc(28)))).toBe("pass")
    for (const other of [0x8100, 0x88cc, 0x8863, 0]) expect(verdictOn(frameOf(other, Buffer.alloc(60)))).toBe("drop")
  })
})
