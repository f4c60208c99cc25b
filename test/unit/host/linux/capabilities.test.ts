import { assert, describe, it } from "vitest"
import { missingCapabilities } from "../../../../src/host/linux/capabilities.ts"

const status = (effective: string) => `Name:\tnode\nCapPrm:\t000001ffffffffff\nCapEff:\t${effective}\n`

const all = ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN"] as const

describe("the capabilities of root", () => {
  it("are complete on a host", () => {
    assert.deepStrictEqual(missingCapabilities(all, status("000001ffffffffff")), [])
  })

  it("include none that Sandboxes need in a default container", () => {
    assert.deepStrictEqual(missingCapabilities(all, status("00000000a80425fb")), all)
  })

  it("are those that the container was given", () => {
    // With SYS_ADMIN and NET_ADMIN added.
    assert.deepStrictEqual(missingCapabilities(all, status("00000000a82435fb")), ["SYS_PTRACE"])
  })
})
