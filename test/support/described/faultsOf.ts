/**
 * The differences of one exchange from the description: for every request that an HTTP API's description covers, and
 * every answer.
 */
import { answerFaults } from "./answerFaults.ts"
import type { Description, Response } from "./Description.ts"
import type { Exchange } from "./Exchange.ts"
import { requestFaults } from "./requestFaults.ts"

const isTaken = (status: number): boolean => status < 400

/** The answers that the description states once for all paths, and for unknown ones. */
const undescribed = (description: Description, { method, status }: Exchange): Response | null => {
  const response = description.otherwise
  if (status === 404) return withCodes(response, ["NOT_FOUND"])
  if (status === 405) return response
  if (status === 204 && method === "OPTIONS") {
    const { headers = {} } = response
    return { headers }
  }
  return null
}

const withCodes = (response: Response, codes: ReadonlyArray<string>): Response => {
  const { schema } = response.content!["application/json"]!
  return {
    ...response,
    content: { "application/json": { schema, examples: Object.fromEntries(codes.map((code) => [code, null])) } }
  }
}

export const faultsOf = (description: Description, exchange: Exchange): ReadonlyArray<string> => {
  const { method, target, status } = exchange
  const found = description.operation(method, target.split("?")[0]!)
  const response = found === null ? undescribed(description, exchange) : found.operation.responses[status]
  const faults =
    response == null
      ? [found === null ? "it is not described" : "the status is not described"]
      : [
          ...(found !== null && isTaken(status) ? requestFaults(description, found, exchange) : []),
          ...answerFaults(description, response, exchange)
        ]
  return faults.map((fault) => `${method} ${target} ${status}: ${fault}`)
}
