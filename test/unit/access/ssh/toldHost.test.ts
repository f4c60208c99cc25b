import { assert, describe, it } from "vitest"
import { toldHost } from "../../../../src/access/ssh/SshEndpoint.ts"

describe("the published address of the SSH gateway", () => {
  it("is the one that it listens on", () => {
    assert.strictEqual(toldHost("192.0.2.7", "https://api.example.org"), "192.0.2.7")
  })

  it("is one that clients can connect to where it listens on all of them", () => {
    assert.strictEqual(toldHost("0.0.0.0", "https://api.example.org"), "api.example.org")
    assert.strictEqual(toldHost("::", "http://[2001:db8::7]:8080"), "2001:db8::7")
    assert.strictEqual(toldHost("0.0.0.0", null), "127.0.0.1")
  })
})
