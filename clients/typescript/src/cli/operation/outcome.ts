/** The state of an operation in a few words. */
import type { Operation } from "../../generated/schemas.ts"

export const outcomeOf = ({ status, exitCode, signal, reason }: Operation): string => {
  if (exitCode !== null) return `${status}, ${exitCode}`
  if (signal !== null) return `${status}, ${signal}`
  return reason === null ? status : `${status}, ${reason.code}`
}
