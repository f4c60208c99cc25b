/**
 * Handles some requests of the listener on the raw request and socket, before the API's router:
 * endless streams and protocol changes.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { hasOneHost } from "./hasOneHost.ts"

export interface RawGateway {
  readonly takes: (request: IncomingMessage) => boolean
  /** Null: it takes upgrades only. */
  readonly request: ((request: IncomingMessage, response: ServerResponse) => void) | null
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Streams through a gateway have no time limit; this keeps the limit on a request's arrival for all others. */
const boundArrival = (request: IncomingMessage, withinMs: number): void => {
  if (request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined) return
  const timer = setTimeout(() => request.socket.destroy(), withinMs).unref()
  request.once("end", () => clearTimeout(timer))
  request.once("close", () => clearTimeout(timer))
}

/** Another version of HTTP is not accepted as an upgrade: the gateway's header changes would not apply after it. */
const isHttp = (offered: string): boolean =>
  offered.split(",").some((protocol) => /^(?:h2c?|http\/.*|tls\/.*)$/i.test(protocol.trim()))

/**
 * Whether to hand over the connection. A server may ignore an Upgrade (RFC 9110 section 7.8). Clients that support HTTP/2
 * offer it with any request, and a request with a body stays HTTP.
 */
const mayChange = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] === undefined &&
  Number(headers["content-length"] ?? 0) === 0 &&
  !isHttp(headers.upgrade ?? "")

/** Puts gateways before all other listeners for requests and upgrades; the first that takes a request handles it. */
export const placeGateways = (server: Server, gateways: ReadonlyArray<RawGateway>): void => {
  const withinMs = server.requestTimeout
  server.requestTimeout = 0
  // The API changes no protocol: it ignores Upgrade headers, as RFC 9110 section 7.8 allows.
  const choosing = server as { shouldUpgradeCallback?: (request: IncomingMessage) => boolean }
  server.on("upgrade", () => {}) // without a listener node:http drops an upgrade
  choosing.shouldUpgradeCallback = (request) =>
    mayChange(request) && hasOneHost(request) && gateways.some((gateway) => gateway.takes(request))
  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (event !== "request" && event !== "upgrade" && event !== "checkContinue") return passOn(event, ...args)
    const request = args[0] as IncomingMessage
    const gateway = hasOneHost(request) ? gateways.find((one) => one.takes(request)) : undefined
    if (gateway === undefined) {
      // A request with `Expect: 100-continue` arrives again as a normal request.
      if (withinMs > 0 && event === "request") boundArrival(request, withinMs)
      return passOn(event, ...args)
    }
    if (event === "checkContinue") (args[1] as ServerResponse).writeContinue()
    if (event !== "upgrade") gateway.request?.(request, args[1] as ServerResponse)
    else gateway.upgrade(request, args[1] as Duplex, args[2] as Buffer)
    return true
  }
}
