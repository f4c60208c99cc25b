import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it } from "vitest"
import { holdEarlyRequests } from "../../../../src/api/http/EarlyRequests.ts"

it("the listener serves requests that came before its handler, each once, and later ones immediately", async () => {
  const server = createServer()
  holdEarlyRequests(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5000) }).then((answer) => answer.text())
  const arrived = new Promise<void>((resolve) => {
    let requests = 0
    server.prependListener("connection", () => ++requests === 2 && resolve())
  })
  const early = [ask("/a"), ask("/b")]
  await arrived
  await new Promise((resolve) => setImmediate(resolve))
  const served: Array<string> = []
  server.on("request", (request, response) => {
    served.push(request.url ?? "")
    response.end(request.url)
  })
  expect(await Promise.all(early)).toEqual(["/a", "/b"])
  expect(await ask("/c")).toBe("/c")
  expect(served.sort()).toEqual(["/a", "/b", "/c"])
  server.closeAllConnections()
  server.close()
})

it("the listener answers 503 with Retry-After to early requests beyond its bound", async () => {
  const server = createServer()
  holdEarlyRequests(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  for (let waiting = 0; waiting < 1000; waiting++) server.emit("request", {} as IncomingMessage, {} as ServerResponse)
  const { port } = server.address() as AddressInfo
  const answer = await fetch(`http://127.0.0.1:${port}/api/v2/machines`)
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"])
  expect(await answer.json()).toMatchObject({ code: "SERVICE_UNAVAILABLE", details: null })
  server.closeAllConnections()
  server.close()
})
