/** Whether a request that failed without an answer can have arrived. */
import type { Outcome } from "../errors.ts"

/** Of connections that never stood: no name, no connection, no certificate to trust (of OpenSSL's verification). */
const neverConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_CERT_ALTNAME_INVALID|(?:CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)_.+)$/

/** Said without a code: by Node and Deno of a port that fetch does not connect to, by Deno of every connection that never stood. */
const saidOfNone = /^bad port$|Requests to port \d+ are blocked|client error \(Connect\)/

/** `notApplied` where nothing was sent. Everything else may have arrived. */
export const outcomeOf = (thrown: unknown): Outcome => {
  for (let fault: unknown = thrown; fault instanceof Error; fault = fault.cause) {
    const { code, syscall } = fault as { readonly code?: unknown; readonly syscall?: unknown }
    const isOfConnecting = syscall === "connect" || syscall === "getaddrinfo"
    if (isOfConnecting || neverConnected.test(String(code)) || saidOfNone.test(fault.message)) return "notApplied"
  }
  return "unknown"
}
