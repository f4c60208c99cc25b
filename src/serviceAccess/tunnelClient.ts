/** The client's end of a service access: a local TCP port whose connections each become one tunnel. */
import type { IncomingMessage } from "node:http"
import { createServer, type Server, type Socket } from "node:net"
import { WebSocket } from "ws"
import { bridge, tunnelMessageMaxBytes, tunnelProtocol } from "./tunnelBridge.ts"

const refusalMaxBytes = 64 * 1024

export interface TunnelClientOptions {
  /** Of the service, `http://…` or `https://…`. */
  readonly url: string
  readonly capability: string
  /** In the Sandbox. */
  readonly port: number
  /** Connections of the same client live together; a newer client takes the place of the older. */
  readonly client: string
  /** Told in one sentence why a connection could not be carried. */
  readonly onRefused: (sentence: string) => void
}

/** What the service said instead of a handshake. */
const sentenceOf = async (answer: IncomingMessage): Promise<string> => {
  let body = ""
  for await (const chunk of answer) {
    body += chunk
    if (body.length > refusalMaxBytes) break
  }
  try {
    const { message } = JSON.parse(body) as { readonly message?: unknown }
    if (typeof message === "string") return message
  } catch {
    // Some proxy's page.
  }
  return `The service answered ${answer.statusCode}.`
}

/** A server to listen with. */
export const tunnelServer = ({ url, capability, port, client, onRefused }: TunnelClientOptions): Server => {
  const target = new URL("/api/v2/tunnel", url)
  target.protocol = target.protocol === "https:" ? "wss:" : "ws:"
  target.searchParams.set("port", String(port))
  target.searchParams.set("client", client)

  const carry = (local: Socket): void => {
    local.setNoDelay(true)
    local.pause()
    local.on("error", () => {})
    const socket = new WebSocket(target, tunnelProtocol, {
      headers: { authorization: `Bearer ${capability}` },
      perMessageDeflate: false,
      maxPayload: tunnelMessageMaxBytes
    })
    let isTold = false
    const refused = (sentence: string) => {
      if (!isTold) onRefused(sentence)
      isTold = true
      local.destroy()
    }
    socket.on("unexpected-response", (_, answer) => void sentenceOf(answer).then(refused, () => refused("No answer.")))
    socket.on("error", (error) => {
      if (local.bytesWritten === 0 && !local.destroyed) refused(error.message)
      else local.destroy()
    })
    local.once("close", () => {
      if (socket.readyState === socket.CONNECTING) socket.terminate()
    })
    socket.on("open", () => {
      bridge(socket, local)
      local.resume()
    })
  }
  return createServer({ allowHalfOpen: true }, carry)
}
