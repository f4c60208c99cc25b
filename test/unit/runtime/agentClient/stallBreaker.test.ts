import { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import { assert, it } from "@effect/vitest"
import { StallBreaker } from "../../../../src/runtime/agentClient/StallBreaker.ts"

it("no HTTP/2 session is put on the handle of a TLS connection, which a silent host would make an end of the process", () => {
  const plain = new Socket()
  const secure = new TLSSocket(plain)
  try {
    assert.isNull(StallBreaker.of(secure))
  } finally {
    secure.destroy()
    plain.destroy()
  }
})
