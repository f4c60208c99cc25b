/** Requests through the host name of a preview in which no program listens. */
import { request } from "node:http"

/** The gateway's own page of a Sandbox that was reached. */
export const reachedPage = "Nothing listens"

/** Null: the answer was lost. */
export const visit = (
  origin: string,
  host: string,
  withinMs: number
): Promise<"reached" | "unknown" | "failed" | null> =>
  new Promise((resolve) => {
    const asked = request(origin, { headers: { host }, agent: false, signal: AbortSignal.timeout(withinMs) })
    asked.on("error", () => resolve(null))
    asked.on("response", (response) => {
      response.on("error", () => resolve(null))
      response.toArray().then(
        (pieces) => {
          const isReached = Buffer.concat(pieces).toString().startsWith(reachedPage)
          resolve(response.statusCode === 404 ? "unknown" : isReached ? "reached" : "failed")
        },
        () => resolve(null)
      )
    })
    asked.end()
  })
