import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2"
import { Duplex } from "node:stream"
import { describe, expect, it } from "vitest"
import { healthRoutes } from "../../../src/agent/health.ts"

/** One call of a route, without HTTP. */
const call = async (routes: ReturnType<typeof healthRoutes>, route: string, body: unknown): Promise<unknown> => {
  const said: Array<Buffer> = []
  const stream = Object.assign(
    new Duplex({
      read() {
        this.push(JSON.stringify(body))
        this.push(null)
      },
      write(chunk: Buffer, _encoding, done) {
        said.push(chunk)
        done()
      }
    }),
    { respond: () => {}, headersSent: false }
  )
  await routes[route]!(stream as unknown as ServerHttp2Stream, {} as IncomingHttpHeaders, new URL("http://agent/"))
  return JSON.parse(Buffer.concat(said).toString())
}

describe("the identity of an agent", () => {
  it("differs between a template and each machine made from it, because each is another boot", async () => {
    const routes = healthRoutes({ generation: null, processTrees: "cgroup", workspace: "/" })
    const template = await call(routes, "GET /v1/health", {})
    await call(routes, "POST /v1/identity", { generation: 3 })
    const machine = await call(routes, "GET /v1/health", {})
    expect(machine).toMatchObject({ generation: 3, bootId: expect.stringMatching(/^[0-9a-f]{32}$/) })
    expect((machine as { bootId: string }).bootId).not.toBe((template as { bootId: string }).bootId)
    await call(routes, "POST /v1/identity", { generation: 3 })
    expect(await call(routes, "GET /v1/health", {})).toEqual(machine)
  })
})
