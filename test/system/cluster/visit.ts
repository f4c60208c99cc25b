import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"

/** The status with which a service answers for the preview of that name. */
export const visit = async (origin: string, hostname: string) => {
  const sent = request(origin, { headers: { host: hostname } }).end()
  const [answer] = (await once(sent, "response")) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}
