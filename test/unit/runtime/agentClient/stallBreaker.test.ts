import { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { assert, it } from "@effect/vitest"
import { StallBreaker } from "../../../../src/runtime/agentClient/StallBreaker.ts"

it("no HTTP/2 session runs on the handle of a TLS connection, because a silent host would end the process", () => {
  const plain = new Socket()
  const secure = new TLSSocket(plain)
  try {
    assert.isNull(StallBreaker.of(secure))
  } finally {
    secure.destroy()
    plain.destroy()
  }
})
