/** The client behind a proxy, from header lists that proxies and strangers write. */
import { assert, describe, it } from "@effect/vitest"
import { type Client, clientBehind, trusting } from "../../../../src/access/gateway/forwardedFor.ts"

const trusts = trusting(["127.0.0.1", "10.0.0.0/8", "fd00::/8", "::ffff:192.168.7.7"])

type Headers = Readonly<Record<string, string>>

const addressFor = (peer: string, headers: Headers): string => clientBehind(peer, headers, trusts).address
const listed = (peer: string, list: string): string => addressFor(peer, { "x-forwarded-for": list })
const forwarded = (peer: string, list: string): string => addressFor(peer, { forwarded: list })

describe("the client address behind a proxy", () => {
  it("is the connection's own when the peer is not trusted", () => {
    assert.strictEqual(listed("198.51.100.1", "203.0.113.5"), "198.51.100.1")
    assert.strictEqual(forwarded("198.51.100.1", "for=203.0.113.5"), "198.51.100.1")
    assert.strictEqual(listed("11.0.0.1", "203.0.113.5"), "11.0.0.1")
    assert.strictEqual(listed("fe80::1", "203.0.113.5"), "fe80::1")
    assert.strictEqual(listed("", "203.0.113.5"), "")
    const { scheme, said } = clientBehind(
      "198.51.100.1",
      { "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.5" },
      trusts
    )
    assert.deepStrictEqual([scheme, said], [null, "203.0.113.5"])
  })

  it("is read from the right of a list, as far as its writers are trusted", () => {
    assert.strictEqual(listed("127.0.0.1", "203.0.113.5"), "203.0.113.5")
    assert.strictEqual(listed("127.0.0.1", "6.6.6.6, 203.0.113.5"), "203.0.113.5")
    assert.strictEqual(listed("127.0.0.1", "6.6.6.6,127.0.0.1 , 203.0.113.5"), "203.0.113.5")
    assert.strictEqual(listed("127.0.0.1", "6.6.6.6, 203.0.113.5, 10.1.2.3"), "203.0.113.5")
    assert.strictEqual(listed("127.0.0.1", "203.0.113.5, fd00::7, 10.1.2.3"), "203.0.113.5")
    // All of them are trusted: the first one is the client.
    assert.strictEqual(listed("127.0.0.1", "10.9.9.9, 10.1.2.3"), "10.9.9.9")
  })

  it("stops at text that is no address, and is then the proxy that passed it on", () => {
    for (const nothing of [
      "",
      "unknown",
      "_hidden",
      "203.0.113.500",
      "::g",
      "fe80::1%eth0",
      "1.2.3.4 5.6.7.8",
      "[::1"
    ]) {
      assert.strictEqual(listed("127.0.0.1", `6.6.6.6, ${nothing}`), "127.0.0.1", nothing)
    }
    assert.strictEqual(listed("127.0.0.1", "6.6.6.6, unknown, 10.1.2.3"), "10.1.2.3")
    assert.strictEqual(addressFor("127.0.0.1", {}), "127.0.0.1")
  })

  it("is recognised in every spelling, and shown in one", () => {
    assert.strictEqual(listed("127.0.0.1", "203.0.113.5:4711"), "203.0.113.5")
    assert.strictEqual(listed("127.0.0.1", "2001:DB8::5"), "2001:db8::5")
    assert.strictEqual(listed("127.0.0.1", "[2001:db8::5]:4711"), "2001:db8::5")
    assert.strictEqual(listed("127.0.0.1", "[2001:db8::5]"), "2001:db8::5")
    assert.strictEqual(listed("127.0.0.1", "::FFFF:203.0.113.5"), "203.0.113.5")
    assert.strictEqual(listed("fd12::1", "203.0.113.5"), "203.0.113.5")
    assert.strictEqual(listed("fd12::1%eth0", "203.0.113.5"), "203.0.113.5")
    assert.strictEqual(listed("192.168.7.7", "203.0.113.5"), "203.0.113.5")
    // The same range in another spelling.
    assert.strictEqual(listed("127.0.0.1", "203.0.113.5, ::ffff:10.1.2.3"), "203.0.113.5")
  })

  it("is read from Forwarded by the same rule, with any quoted text", () => {
    assert.strictEqual(forwarded("127.0.0.1", "for=203.0.113.5"), "203.0.113.5")
    assert.strictEqual(
      forwarded("127.0.0.1", 'for=6.6.6.6, For="[2001:db8::5]:4711";proto=https;by=10.0.0.1'),
      "2001:db8::5"
    )
    assert.strictEqual(forwarded("127.0.0.1", "for=203.0.113.5, for=10.1.2.3"), "203.0.113.5")
    // A quote that a visitor opens does not swallow the proxy's entry behind it.
    assert.strictEqual(forwarded("127.0.0.1", 'for="6.6.6.6, for=203.0.113.5'), "203.0.113.5")
    // Text that the proxy quotes for the visitor is no entry of the list.
    assert.strictEqual(forwarded("127.0.0.1", 'for=203.0.113.5;host="a, for=6.6.6.6;x="'), "127.0.0.1")
    assert.strictEqual(forwarded("127.0.0.1", 'for=203.0.113.5;host="a, for=6.6.6.6;x=\\""'), "127.0.0.1")
    assert.strictEqual(forwarded("127.0.0.1", 'for=203.0.113.5;host="a;for=6.6.6.6"'), "127.0.0.1")
    assert.strictEqual(forwarded("127.0.0.1", "for=203.0.113.5;for=6.6.6.6"), "127.0.0.1")
    assert.strictEqual(forwarded("127.0.0.1", "for=_hidden"), "127.0.0.1")
  })

  it("is taken from neither header where they name different clients, because one of them is the visitor's", () => {
    const both = (list: string, elements: string): Client =>
      clientBehind("127.0.0.1", { "x-forwarded-for": list, forwarded: elements }, trusts)
    assert.deepInclude(both("203.0.113.5", "for=6.6.6.6"), { address: "127.0.0.1", isDisputed: true, said: null })
    assert.deepInclude(both("6.6.6.6", "for=203.0.113.5"), { address: "127.0.0.1", isDisputed: true })
    assert.deepInclude(both("203.0.113.5", "nonsense"), { address: "127.0.0.1", isDisputed: true })
    assert.deepInclude(both("6.6.6.6, 203.0.113.5", "for=203.0.113.5"), { address: "203.0.113.5", isDisputed: false })
    // A peer that is not trusted has nothing to dispute.
    const stranger = clientBehind("198.51.100.1", { "x-forwarded-for": "1.1.1.1", forwarded: "for=2.2.2.2" }, trusts)
    assert.deepInclude(stranger, { address: "198.51.100.1", isDisputed: false })
  })

  it("comes with the scheme that the client used, and with its own claim", () => {
    const of = (headers: Headers) => {
      const { scheme, said } = clientBehind("127.0.0.1", headers, trusts)
      return [scheme, said]
    }
    const list = "6.6.6.6, 203.0.113.5, 10.1.2.3"
    assert.deepStrictEqual(of({ "x-forwarded-for": list, "x-forwarded-proto": "https" }), ["https", "6.6.6.6"])
    assert.deepStrictEqual(of({ "x-forwarded-for": list, "x-forwarded-proto": "http, https, http" }), [
      "https",
      "6.6.6.6"
    ])
    assert.deepStrictEqual(of({ "x-forwarded-for": "203.0.113.5" }), [null, null])
    assert.deepStrictEqual(of({ "x-forwarded-for": "203.0.113.5", "x-forwarded-proto": "gopher" }), [null, null])
    assert.deepStrictEqual(of({ "x-forwarded-proto": "HTTPS" }), ["https", null])
    assert.deepStrictEqual(of({ forwarded: "for=203.0.113.5;proto=https, for=10.1.2.3;proto=http" }), ["https", null])
  })
})
