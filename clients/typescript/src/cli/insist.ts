/** What does no harm when it is done twice, until it is known to be done. */
import { AtollError, ConnectionError } from "../errors.ts"
import { sleep } from "../http/sleep.ts"

const pauseMs = 500

/** It may have been done, or not. */
export const isUnknown = (thrown: unknown): boolean =>
  (thrown instanceof ConnectionError || thrown instanceof AtollError) && thrown.outcome === "unknown"

/** Asks again where nobody knows whether it was done, for so long. */
export const insist = async <A>(patienceSeconds: number, ask: () => Promise<A>): Promise<A> => {
  for (const until = Date.now() + patienceSeconds * 1000; ; ) {
    try {
      return await ask()
    } catch (thrown) {
      if (!isUnknown(thrown) || Date.now() > until) throw thrown
      await sleep(pauseMs, undefined)
    }
  }
}
