import { setTimeout as sleep } from "node:timers/promises"

/** Checks until there is no fault, or patience ends; returns the remaining fault. */
export const soon = async (
  look: () => Promise<ReadonlyArray<string>>,
  withinMs = 90_000
): Promise<ReadonlyArray<string>> => {
  for (const end = Date.now() + withinMs; ; await sleep(100)) {
    const wrong = await look()
    if (wrong.length === 0 || Date.now() > end) return wrong
  }
}
