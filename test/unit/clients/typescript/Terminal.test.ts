/** What the library's terminal asks of its connection, and its clock of the service: without either. */
import { assert, describe, it } from "vitest"
import type { Transport } from "../../../../clients/typescript/src/http/Transport.ts"
import { Atoll } from "../../../../clients/typescript/src/index.ts"
import type { MessageSocket, SocketListener } from "../../../../clients/typescript/src/socket/MessageSocket.ts"
import { Terminal } from "../../../../clients/typescript/src/Terminal.ts"

class NotedSocket implements MessageSocket {
  readonly sent: Array<string | number> = []
  send(data: Uint8Array | string, taken = () => {}): void {
    this.sent.push(typeof data === "string" ? data : data.length)
    taken()
  }
  pause(): void {}
  resume(): void {}
  close(): void {}
  destroy(): void {}
}

const opened = async () => {
  const socket = new NotedSocket()
  let listener: SocketListener | null = null
  const transport = {
    connect: async (_: unknown, listens: SocketListener) => {
      listener = listens
      return socket
    }
  } as unknown as Transport
  const terminal = await Terminal.open(transport, "sbx_1", {})
  return { socket, terminal, listener: listener! as SocketListener }
}

describe("a terminal", () => {
  it("asks the shell to wait while nobody reads, once, and to go on when most was read", async () => {
    const { socket, terminal, listener } = await opened()
    for (let at = 0; at < 40; at++) listener.bytes(new Uint8Array(16 * 1024))
    assert.deepStrictEqual(socket.sent, ['{"type":"pause"}'])
    const output = terminal.output()
    for (let read = 0; read < 35; read++) await output.next()
    assert.deepStrictEqual(socket.sent, ['{"type":"pause"}'])
    await output.next()
    assert.deepStrictEqual(socket.sent, ['{"type":"pause"}', '{"type":"resume"}'])
  })

  it("gives what it got before the connection broke, then says that it did", async () => {
    const { terminal, listener } = await opened()
    listener.bytes(Uint8Array.from([1, 2]))
    listener.closed({ code: 1001, reason: "The service stops." })
    const output = terminal.output()
    assert.deepStrictEqual((await output.next()).value, Uint8Array.from([1, 2]))
    const thrown = await output.next().then(
      () => null,
      (thrown: unknown) => thrown
    )
    assert.deepInclude(thrown, { name: "ConnectionLost", closeCode: 1001 })
    assert.match(String(thrown), /and its shell has ended with it: The service stops\./)
  })

  it("sends what is typed in pieces that one frame takes", async () => {
    const { socket, terminal } = await opened()
    await terminal.write(new Uint8Array(150_000))
    assert.deepStrictEqual(socket.sent, [65_536, 65_536, 18_928])
  })
})

it("names instants by the service's clock where its own is wrong", () => {
  const asked: Array<string> = []
  const aheadMs = 3 * 3_600_000
  const atoll = new Atoll({
    apiKey: "key",
    url: "http://127.0.0.1:9",
    fetch: async (url) => {
      asked.push(String(url))
      return new Response("{}", { headers: { date: new Date(Date.now() + aheadMs).toUTCString() } })
    }
  })
  return atoll.me().then(() => {
    assert.lengthOf(asked, 1)
    assert.approximately(atoll.api.now(), Date.now() + aheadMs, 2000)
  })
})
