/** The last line of a failure: where the service's reference explains its error code. */
import { AtollError } from "../errors.ts"
import type { Given } from "./Command.ts"

/** A link may come from a proxy: without credentials and query, which may hold a secret. */
const shown = (documentation: string): string | null => {
  const { protocol, origin, pathname, hash } = new URL(documentation)
  return protocol === "https:" || protocol === "http:" ? `${origin}${pathname}${hash}` : null
}

/** Null: the service did not cause the failure, or named no place. */
export const documentationOf = (fault: unknown): string | null => {
  for (let cause = fault; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AtollError && cause.documentation !== null) return shown(cause.documentation)
  }
  return null
}

/** One line on stderr for each place. With `--json` a program reads the answer, and none is written. */
export const sayMore = ({ isJson }: Pick<Given, "isJson">, faults: ReadonlyArray<unknown>): void => {
  if (isJson) return
  const places = new Set(faults.map(documentationOf))
  places.delete(null)
  for (const place of places) process.stderr.write(`More: ${place}\n`)
}
