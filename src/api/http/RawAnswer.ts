/** Writes an error response to a bare socket: where node:http has no response object, before a request or after an upgrade. */
import { STATUS_CODES } from "node:http"

/** A complete response that also ends the connection. `body` is the Error body in JSON. */
export const rawAnswer = (
  status: number,
  body: string,
  requestId: string,
  headers: Readonly<Record<string, string>> = {}
): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
    "",
    body
  ].join("\r\n")
