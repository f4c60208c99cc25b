/**
 * Finds the client behind a proxy from the proxy's headers.
 *
 * Each proxy appends the address of its own peer at the right end of the list; the rest of the list came with the request.
 * So the list is read from the right, as long as the writer is trusted. A proxy writes one of the two headers and passes the
 * other one on unchanged from the visitor. It is unknown which one it writes, so two that differ are both ignored.
 *
 * @source RFC 7239 sections 4 (Forwarded), 5.2 (for), 5.4 (proto), 6 (node identifiers)
 */
import type { IncomingHttpHeaders } from "node:http"
import { BlockList, isIP } from "node:net"
import { plainAddress } from "./peerAddress.ts"

export interface Client {
  readonly address: string
  /** The client's own X-Forwarded-For, which is unverified; null: none. */
  readonly said: string | null
  /** The scheme between the client and the first proxy; null: no proxy named it. */
  readonly scheme: "http" | "https" | null
  /** The two headers name different clients: `address` is the proxy's own. */
  readonly isDisputed: boolean
}

export type Trusts = (address: string) => boolean

const familyOf = (address: string) => (address.includes(":") ? "ipv6" : "ipv4")

/** @param ranges Addresses, and ranges in CIDR notation. */
export const trusting = (ranges: ReadonlyArray<string>): Trusts => {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = "", bits] = range.split("/")
    if (bits !== undefined) list.addSubnet(address, Number(bits), familyOf(address))
    else list.addAddress(plainAddress(address), familyOf(plainAddress(address)))
  }
  return (address) => {
    // A link-local address has its interface as a suffix.
    const [bare = ""] = address.split("%", 1)
    return isIP(bare) !== 0 && list.check(bare, familyOf(bare))
  }
}

/** `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`; null: none of these. */
const addressIn = (node: string): string | null => {
  const [, bracketed, dotted, bare] = /^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+)(?::\d+)?|([\da-f:.]+))$/i.exec(node) ?? []
  const address = plainAddress(bracketed ?? dotted ?? bare).toLowerCase()
  return isIP(address) === 0 ? null : address
}

interface Hop {
  /** Null: hidden, or not an address. */
  readonly address: string | null
  readonly scheme: string | null
}

const nowhere: Hop = { address: null, scheme: null }

/** `name=value` with a token or a quoted string; a value whose colons and brackets should be quoted is accepted unquoted, too. */
const pair = /^([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~:[\]-]+)|"((?:[^"\\]|\\.)*)")$/

/** A quoted comma or semicolon counts as a separator: the remainder is then malformed, and the list is read no further. */
const forwardedHop = (element: string): Hop => {
  const found = new Map<string, string>()
  for (const part of element.split(";")) {
    const [, name, token, quoted] = pair.exec(part.trim()) ?? []
    if (name === undefined || found.has(name.toLowerCase())) return nowhere
    found.set(name.toLowerCase(), token ?? quoted!)
  }
  return { address: addressIn(found.get("for") ?? ""), scheme: found.get("proto") ?? null }
}

const items = (header: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  header === undefined
    ? []
    : header
        .toString()
        .split(",")
        .map((item) => item.trim())

/** How many of the last hops are trusted, and the address they lead to. */
const follow = (peer: string, hops: ReadonlyArray<Hop>, trusts: Trusts) => {
  let address = peer
  let count = 0
  while (count < hops.length && trusts(address)) {
    const next = hops[hops.length - 1 - count]!.address
    if (next === null) break
    address = next
    count++
  }
  return { address, count }
}

const schemeIn = (text: string | null | undefined): Client["scheme"] => {
  const name = text?.toLowerCase()
  return name === "http" || name === "https" ? name : null
}

/** @param peer The address of the connection's other end. */
export const clientBehind = (peer: string, headers: IncomingHttpHeaders, trusts: Trusts): Client => {
  const list = items(headers["x-forwarded-for"])
  if (!trusts(peer)) {
    return { address: peer, said: headers["x-forwarded-for"]?.toString() ?? null, scheme: null, isDisputed: false }
  }
  const elements = items(headers.forwarded).map(forwardedHop)
  const plain = follow(
    peer,
    list.map((node) => ({ address: addressIn(node), scheme: null })),
    trusts
  )
  const forwarded = follow(peer, elements, trusts)
  const schemes = items(headers["x-forwarded-proto"])
  if (list.length > 0 && elements.length > 0 && plain.address !== forwarded.address) {
    return { address: peer, said: null, scheme: schemeIn(schemes.at(-1)), isDisputed: true }
  }
  const { address, count } = list.length > 0 ? plain : forwarded
  const before = list.slice(0, list.length - plain.count)
  return {
    address,
    said: before.length > 0 ? before.join(", ") : null,
    // A proxy that overwrites the header leaves one entry for all.
    scheme: schemeIn(
      schemes.at(-Math.min(Math.max(count, 1), schemes.length)) ?? elements.at(-Math.max(count, 1))?.scheme
    ),
    isDisputed: false
  }
}
