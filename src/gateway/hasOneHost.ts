/** Whether a request says at most once which host it is for: where it says two, a proxy may have gone by the other. */
import type { IncomingMessage } from "node:http"

export const hasOneHost = ({ rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  // Names and values by turns.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts <= 1
}
