/** False for a request with several Host headers: a proxy may have used another one than the service. */
import type { IncomingMessage } from "node:http"

export const hasOneHost = ({ rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  // Names and values alternate.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts <= 1
}
