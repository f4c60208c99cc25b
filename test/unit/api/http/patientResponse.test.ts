/** An answer in flight: how its text is written, and that its length still has to match its head. */
import { once } from "node:events"
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Socket } from "node:net"
import { afterEach, assert, describe, it, vi } from "vitest"
import { PatientResponse } from "../../../../src/api/http/PatientResponse.ts"

const servers: Array<Server> = []

const serve = async (handler: (response: ServerResponse) => void) => {
  const server = createServer({ ServerResponse: PatientResponse }, (_request, response) => handler(response))
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return (server.address() as { port: number }).port
}

const ask = async (port: number) => {
  const [answer] = (await once(get({ port, host: "127.0.0.1" }), "response")) as [IncomingMessage]
  return Buffer.concat(await answer.toArray()).toString()
}

/** Like Effect's server. */
const strictly = (response: ServerResponse, length: number) => {
  response.strictContentLength = true
  response.writeHead(200, { "content-length": length })
}

afterEach(() => {
  vi.restoreAllMocks()
  for (const server of servers.splice(0)) server.closeAllConnections()
})

describe("a text that is the whole answer", () => {
  it("is sent when the turn is over, after those that ended before it", async () => {
    const together = 3
    const waiting: Array<ServerResponse> = []
    const sent: Array<string> = []
    const port = await serve((response) => {
      waiting.push(response)
      if (waiting.length < together) return
      for (const [at, one] of waiting.toReversed().entries()) {
        const text = `answer ${at}`
        strictly(one, text.length)
        one.once("finish", () => sent.push(text))
        one.end(text)
      }
      sent.push("the turn", ...waiting.flatMap(({ socket }) => (socket!.bytesWritten > 0 ? ["too early"] : [])))
    })
    const texts = await Promise.all(Array.from({ length: together }, () => ask(port)))
    const answers = ["answer 0", "answer 1", "answer 2"]
    assert.deepStrictEqual(texts.toSorted(), answers)
    assert.deepStrictEqual(sent, ["the turn", ...answers])
  })

  it("is not sent to a client that has gone, and the others are", async () => {
    const waiting: Array<ServerResponse> = []
    const port = await serve((response) => {
      waiting.push(response)
      if (waiting.length < 3) return
      for (const one of waiting) {
        strictly(one, 4)
        one.end("1234")
      }
      waiting[0]!.socket!.destroy()
      waiting[1]!.destroy()
    })
    const outcomes = await Promise.allSettled([ask(port), ask(port), ask(port)])
    assert.deepStrictEqual(outcomes.map(({ status }) => status).toSorted(), ["fulfilled", "rejected", "rejected"])
  })

  it("is written in one piece with its head", async () => {
    const inPieces = vi.spyOn(Socket.prototype as unknown as { _writev: () => void }, "_writev")
    const text = JSON.stringify({ name: "größer" })
    const port = await serve((response) => {
      strictly(response, Buffer.byteLength(text))
      response.end(text)
    })
    assert.strictEqual(await ask(port), text)
    assert.strictEqual(inPieces.mock.calls.length, 0)
  })

  it.each([
    ["longer", "12345"],
    ["shorter", "123"]
  ])("is refused when it is %s than its head says", async (_, text) => {
    const faults: Array<unknown> = []
    const port = await serve((response) => {
      strictly(response, 4)
      try {
        response.end(text)
      } catch (fault) {
        faults.push((fault as NodeJS.ErrnoException).code)
        response.destroy()
      }
    })
    await ask(port).catch(() => {})
    assert.deepStrictEqual(faults, ["ERR_HTTP_CONTENT_LENGTH_MISMATCH"])
  })

  it("is counted when a part of the body was written before it", async () => {
    const faults: Array<unknown> = []
    const port = await serve((response) => {
      strictly(response, 4)
      response.write("12")
      try {
        response.end("1234")
      } catch (fault) {
        faults.push((fault as NodeJS.ErrnoException).code)
        response.destroy()
      }
    })
    await ask(port).catch(() => {})
    assert.deepStrictEqual(faults, ["ERR_HTTP_CONTENT_LENGTH_MISMATCH"])
  })
})
