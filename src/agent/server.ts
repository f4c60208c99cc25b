/** The agent's HTTP/2 server: routes requests, and tunnels `CONNECT :port`. */
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import { answerFailure, Refusal, type Routes } from "./routes.ts"
import { tunnel } from "./tunnel.ts"

/** Bytes in flight to the agent: of one stream, and of all streams of a session. */
const STREAM_WINDOW_BYTES = 1024 ** 2
const SESSION_WINDOW_BYTES = 4 * 1024 ** 2
/** Also of plain tunnels. */
export const STREAMS_MAX = 4_096

export const makeServer = (routes: Routes): Http2Server => {
  const server = createServer({
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, maxConcurrentStreams: STREAMS_MAX },
    maxSessionMemory: 64,
    // The only client is the service, so a burst of cancelled waits is no attack.
    streamResetBurst: 100_000,
    streamResetRate: 10_000
  })
  server.on("session", (session) => {
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    session.on("error", () => session.destroy())
  })
  server.on("sessionError", () => {})
  server.on("stream", (stream, headers) => {
    // A stream reset by the client is no error here; writers check `destroyed`.
    stream.on("error", () => {})
    handle(routes, stream, headers).catch((failure) => answerFailure(stream, failure))
  })
  return server
}

const handle = async (routes: Routes, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
  const method = headers[":method"]
  if (method === "CONNECT") return tunnel(stream, headers)
  const url = new URL(headers[":path"] ?? "/", "http://agent")
  const handler = routes[`${method} ${url.pathname}`]
  if (handler === undefined) throw new Refusal(404, "ROUTE_UNKNOWN", `No ${method} ${url.pathname}`)
  await handler(stream, headers, url)
}
