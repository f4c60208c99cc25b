import { assert, describe, it } from "vitest"
import { endsItsContainer } from "../../../../src/host/linux/containerEnd.ts"

const own = "pid:[4026532301]"

describe("a container ends with the service", () => {
  it("as its first process, and as what docker's --init starts", () => {
    assert.isTrue(endsItsContainer({ namespace: own, pid: 1, parentPid: 0, init: "node" }))
    assert.isTrue(endsItsContainer({ namespace: own, pid: 7, parentPid: 1, init: "docker-init" }))
  })

  it("not where another process keeps it, as systemd does in a whole system", () => {
    assert.isFalse(endsItsContainer({ namespace: own, pid: 70, parentPid: 1, init: "systemd" }))
    assert.isFalse(endsItsContainer({ namespace: own, pid: 70, parentPid: 30, init: "tini" }))
  })

  it("not on a host", () => {
    assert.isFalse(endsItsContainer({ namespace: "pid:[4026531836]", pid: 70, parentPid: 1, init: "tini" }))
  })
})
