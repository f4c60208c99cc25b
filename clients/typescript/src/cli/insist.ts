/** Repeats a request that does no harm when it is applied twice, until its outcome is known. */
import { AtollError, ConnectionError } from "../errors.ts"
import { sleep } from "../http/sleep.ts"

const pauseMs = 500

/** It may have been applied, or not. */
export const isUnknown = (thrown: unknown): boolean =>
  (thrown instanceof ConnectionError || thrown instanceof AtollError) && thrown.outcome === "unknown"

/** Retries a request with an unknown outcome, for so long. */
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
