/** Requests of a client to a service in this process: real HTTP by Node, over pairs of streams instead of sockets, so that no kernel decides the order. */
import { request as httpRequest, type Server } from "node:http"
import { type Duplex, duplexPair } from "node:stream"

export interface Request {
  readonly method: string
  readonly path: string
  /** As JSON; bytes as they are. */
  readonly body?: unknown
  readonly headers: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers have every shape.
  readonly json: any
  /** Set by it. */
  readonly cookie: string | null
}

/** What node:http asks of a connection beyond a stream. */
const asConnection = (stream: Duplex): Duplex => {
  const same = () => stream
  return Object.assign(stream, { remoteAddress: "127.0.0.1", setTimeout: same, setNoDelay: same, setKeepAlive: same })
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/**
 * Null: the connection ended before the whole answer was here.
 * @param mayAnswer Asked once, before the first byte of the answer leaves the service.
 * @param whenAwake What a frozen service sends leaves it later.
 * @param connections Those that end with the service.
 */
export const ask = (
  server: Server,
  { method, path, body, headers }: Request,
  mayAnswer: () => boolean,
  whenAwake: (send: () => void) => void,
  connections: Set<Duplex>
): Promise<Answer | null> => {
  const [near, far] = duplexPair()
  for (const end of [near, far]) end.on("error", () => {})
  let isAsked = false
  const { write, end } = far
  far.write = ((...args: Array<never>) => {
    if (!isAsked) {
      isAsked = true
      if (!mayAnswer()) return false
    }
    let isTaken = true
    whenAwake(() => {
      isTaken = far.destroyed ? false : Reflect.apply(write, far, args)
    })
    return isTaken
  }) as Duplex["write"]
  far.end = ((...args: Array<never>) => {
    whenAwake(() => void Reflect.apply(end, far, args))
    return far
  }) as Duplex["end"]
  connections.add(far)
  far.once("close", () => {
    connections.delete(far)
    near.destroy()
  })
  near.once("close", () => far.destroy())
  server.emit("connection", asConnection(far))
  return new Promise((resolve) => {
    const bytes = body === undefined || body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body))
    const asked = httpRequest(
      {
        method,
        path,
        host: "127.0.0.1",
        createConnection: () => asConnection(near) as never,
        headers: {
          connection: "close",
          ...(bytes === undefined ? {} : { "content-type": "application/json", "content-length": bytes.byteLength }),
          ...headers
        }
      },
      (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          text += chunk
        })
        response.on("end", () => {
          const cookie = response.headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? null
          resolve({ status: response.statusCode!, json: jsonOf(text), cookie })
        })
        response.on("error", () => resolve(null))
        response.on("close", () => resolve(null))
      }
    )
    asked.on("error", () => resolve(null))
    asked.on("close", () => resolve(null))
    asked.end(bytes)
  })
}
