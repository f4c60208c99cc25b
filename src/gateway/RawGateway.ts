/**
 * Something that answers some requests of the listener itself, on the raw request and socket, before the API's router sees them:
 * what streams without end or changes protocol.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { hasOneHost } from "./hasOneHost.ts"

export interface RawGateway {
  readonly takes: (request: IncomingMessage) => boolean
  /** Null of one that takes upgrades only. */
  readonly request: ((request: IncomingMessage, response: ServerResponse) => void) | null
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** A stream through a gateway has no end by time; the bound on a request's arrival is kept for all others. */
const boundArrival = (request: IncomingMessage, withinMs: number): void => {
  if (request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined) return
  const timer = setTimeout(() => request.socket.destroy(), withinMs).unref()
  request.once("end", () => clearTimeout(timer))
  request.once("close", () => clearTimeout(timer))
}

/** HTTP itself by another version is no protocol to change to: what we say in its headers would be lost behind the change. */
const isHttp = (offered: string): boolean =>
  offered.split(",").some((protocol) => /^(?:h2c?|http\/.*|tls\/.*)$/i.test(protocol.trim()))

/**
 * Whether to hand the connection over. An Upgrade is an offer that may be ignored (RFC 9110 section 7.8): clients that could speak HTTP/2
 * make it with any request, and one with a body goes on as HTTP whatever it offers.
 */
const mayChange = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] === undefined &&
  Number(headers["content-length"] ?? 0) === 0 &&
  !isHttp(headers.upgrade ?? "")

/** Puts gateways before whatever else listens to this server's requests and upgrades; the first that takes one has it. */
export const placeGateways = (server: Server, gateways: ReadonlyArray<RawGateway>): void => {
  const withinMs = server.requestTimeout
  server.requestTimeout = 0
  // The API changes no protocol: there an Upgrade header is ignored, as RFC 9110 section 7.8 allows.
  const choosing = server as { shouldUpgradeCallback?: (request: IncomingMessage) => boolean }
  server.on("upgrade", () => {}) // node:http drops an upgrade that nobody listens for
  choosing.shouldUpgradeCallback = (request) =>
    mayChange(request) && hasOneHost(request) && gateways.some((gateway) => gateway.takes(request))
  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (event !== "request" && event !== "upgrade" && event !== "checkContinue") return passOn(event, ...args)
    const request = args[0] as IncomingMessage
    const gateway = hasOneHost(request) ? gateways.find((one) => one.takes(request)) : undefined
    if (gateway === undefined) {
      // What is asked whether to continue comes again as a request.
      if (withinMs > 0 && event === "request") boundArrival(request, withinMs)
      return passOn(event, ...args)
    }
    if (event === "checkContinue") (args[1] as ServerResponse).writeContinue()
    if (event !== "upgrade") gateway.request?.(request, args[1] as ServerResponse)
    else gateway.upgrade(request, args[1] as Duplex, args[2] as Buffer)
    return true
  }
}
