/** A request to the agent, and the head of its answer. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2"

export interface AgentRequest {
  readonly method: string
  /** Path and query, `/v1/...`; null for CONNECT. */
  readonly path: string | null
  readonly headers?: OutgoingHttpHeaders
  /** The whole body; `open` leaves the stream writable for the caller; absent means none. */
  readonly body?: Uint8Array | "open"
  /** How long the head of the answer may take once the body was sent. Default 10 s; null waits for ever. */
  readonly headTimeoutMs?: number | null
  /** How long a slow agent may take in total while it answers the session's pings. Default: no longer than `headTimeoutMs`. */
  readonly patienceMs?: number
}

export interface AgentHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}
