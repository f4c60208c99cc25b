/**
 * `GET /api/v2/tunnel` in the description. Its gateway takes whole connections, and a capability admits a client
 * without an API key: so it is no endpoint of the HttpApi, and the parts that an endpoint derives are written by hand.
 */
import type { ErrorCode } from "./Errors.ts"

export const tunnelPath = "/api/v2/tunnel"
export const tunnelOperation = "openTunnel"
export const capabilityScheme = "capability"

export const capabilitySecurity = {
  type: "http",
  scheme: "bearer",
  description:
    "The capability that createServiceAccess returns. It opens the ports of its request in one Sandbox for an hour; every holder can use it. Never put it into a URL."
}

/** Status to the codes of its answers. */
export const tunnelFailures: ReadonlyMap<number, ReadonlyArray<ErrorCode>> = new Map<number, ReadonlyArray<ErrorCode>>([
  [400, ["INVALID_REQUEST"]],
  [401, ["UNAUTHENTICATED"]],
  [404, ["NOT_FOUND"]],
  [429, ["RATE_LIMITED"]],
  [500, ["INTERNAL"]],
  [501, ["UNSUPPORTED_BY_RUNTIME"]],
  [502, ["SANDBOX_UNAVAILABLE"]],
  [503, ["SERVICE_UNAVAILABLE"]]
])

/** Without its refusals. */
export const tunnel = {
  operationId: tunnelOperation,
  tags: ["TCP service access"],
  summary: "Open a TCP connection (WebSocket)",
  description: [
    "A WebSocket handshake (RFC 6455) with a capability as Authorization. Who can set no header sends the subprotocols `atoll.tunnel` and the capability; the answer names `atoll.tunnel` where it was offered first. The WebSocket is one TCP connection to that port on the Sandbox's loopback; a sleeping Sandbox wakes.",
    "",
    "| frame | with `atoll.tunnel` | without |",
    "| --- | --- | --- |",
    "| binary | the connection's bytes, both ways; how they are cut into messages means nothing, and a message has at most 1 MiB | the same |",
    "| text | `end`: that direction has ended (FIN), and the other goes on; anything else is passed over | the connection's bytes, in UTF-8; the end of either side ends both |",
    "",
    "A slow side holds the other back; nothing is dropped. The server pings every 30 s; a client that answers none is gone.",
    "",
    "Close codes of the server: 1000 both directions have ended; 1002, 1007 and 1009 no well-formed frame, text that is no UTF-8, too large a message; 1011 the connection into the Sandbox broke. A WebSocket that is cut without one: the access was revoked or is over, the Sandbox stopped, a newer client took its place, or the service stops.",
    "",
    "Refused before the handshake is answered, with the body Error: 501 where the server does not offer it, 401 a capability that is none, or over, 404 a port that it does not open, 502 a Sandbox that does not run, or a port on which nothing listens."
  ].join("\n"),
  parameters: [
    {
      name: "port",
      in: "query",
      required: true,
      description: "One of the capability's ports.",
      schema: { type: "integer", minimum: 1, maximum: 65_535, examples: [5432] }
    },
    {
      name: "client",
      in: "query",
      required: false,
      description:
        "The client of the connection. Connections with the same value belong together, and a newer client cuts all connections of the older one. Absent: each connection is a separate client.",
      schema: { type: "string", pattern: "^[!-~]{1,64}$" }
    }
  ],
  responses: {
    101: { description: "Switching Protocols: the connection to the port is open, and the bytes follow." }
  },
  security: [{ [capabilityScheme]: [] }]
}
