/** The client's end of a service access: a local TCP port; each of its connections becomes one tunnel. */
import type { IncomingMessage } from "node:http"
import { createServer, type Server, type Socket } from "node:net"
import { WebSocket } from "ws"
import { bridge, tunnelMessageMaxBytes, tunnelProtocol } from "./tunnelBridge.ts"

const refusalMaxBytes = 64 * 1024

export interface TunnelClientOptions {
  /** The service's URL, `http://…` or `https://…`. */
  readonly url: string
  readonly capability: string
  /** The port in the Sandbox. */
  readonly port: number
  /** Connections of the same client coexist; a newer client replaces the older. */
  readonly client: string
  /** Called with one sentence when a connection is refused. */
  readonly onRefused: (sentence: string) => void
}

const sentenceIn = (body: string, status: number): string => {
  try {
    const { message } = JSON.parse(body) as { readonly message?: unknown }
    if (typeof message === "string") return message
  } catch {
    // An error page of a proxy.
  }
  return `The service answered ${status}.`
}

/** The service's error instead of a handshake. */
const sentenceOf = async (answer: IncomingMessage): Promise<string> => {
  let body = ""
  for await (const chunk of answer) {
    body += chunk
    if (body.length > refusalMaxBytes) break
  }
  return sentenceIn(body, answer.statusCode ?? 0)
}

const targetOf = ({ url, port, client }: TunnelClientOptions): URL => {
  const target = new URL("/api/v2/tunnel", url)
  target.searchParams.set("port", String(port))
  target.searchParams.set("client", client)
  return target
}

export interface TunnelRefusal {
  readonly sentence: string
  /** Where the service's reference explains the error. Null: no answer, or another server's. */
  readonly documentation: string | null
}

/** Of the answer's `Link`, only a place in the service's own reference. */
const documentationIn = (headers: Headers, url: string): string | null => {
  const [, place] = /<(\/docs#[A-Z_]+)>; rel="help"/.exec(headers.get("link") ?? "") ?? []
  return place === undefined ? null : new URL(place, new URL(url).origin).href
}

/** What the service answers where only the handshake is missing. */
const onlyHandshakeMissing = /"path":\["Upgrade"\]/

/**
 * Asks the service, without opening anything, whether it takes the capability for this port.
 *
 * @returns Null if it does.
 */
export const tunnelRefusal = async (options: TunnelClientOptions): Promise<TunnelRefusal | null> => {
  try {
    const headers = { authorization: `Bearer ${options.capability}` }
    const answer = await fetch(targetOf(options), { headers, redirect: "error" })
    const body = await answer.text()
    if (onlyHandshakeMissing.test(body)) return null
    return {
      sentence: sentenceIn(body, answer.status),
      documentation: documentationIn(answer.headers, options.url)
    }
  } catch (thrown) {
    const { cause } = thrown as Error
    const why = cause instanceof Error ? cause.message : String(thrown)
    return {
      sentence: `${options.url} was not reached: ${why}. --url names another address.`,
      documentation: null
    }
  }
}

/** Makes the server for the local port. */
export const tunnelServer = (options: TunnelClientOptions): Server => {
  const { capability, onRefused } = options
  const target = targetOf(options)
  target.protocol = target.protocol === "https:" ? "wss:" : "ws:"

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
