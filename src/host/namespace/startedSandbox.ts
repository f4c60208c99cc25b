/** Boots a Sandbox, and ends it again if its agent does not answer. */

import type { Effect } from "effect"
import { isSame, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { agentAnswers } from "./agentAnswers.ts"
import type { BlankVolumes } from "./BlankVolumes.ts"
import type { BootOptions } from "./boot.ts"
import { boot } from "./boot.ts"
import type { StartedSandbox } from "./SpareSandboxes.ts"
import { unixAgent } from "./unixAgent.ts"

export interface StartOptions extends Omit<BootOptions, "takeBlank" | "began" | "agentAnswers"> {
  readonly blanks: BlankVolumes
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  /** Ends all that runs of it. */
  readonly end: () => Promise<void>
}

export const startedSandbox = async ({ blanks, run, end, ...options }: StartOptions): Promise<StartedSandbox> => {
  const { state, spec } = options
  let place = state
  const session = unixAgent(() => place.socket)
  let begun: ProcessIdentity | null = null
  try {
    const { record, monitor } = await boot({
      ...options,
      takeBlank: async (bytes, path) => {
        await blanks.take(bytes, path)
        void blanks.refill(bytes)
      },
      began: (it) => {
        begun = it
      },
      agentAnswers: () => agentAnswers(run, session, spec.generation)
    })
    return {
      record,
      session,
      monitor,
      moveTo: (to) => {
        place = to
      }
    }
  } catch (cause) {
    session.close()
    // Another process may have judged this one frozen and booted the Sandbox meanwhile.
    const recorded = state.runtime()?.monitor ?? null
    if (begun === null || recorded === null || isSame(begun, recorded)) await end()
    throw cause
  }
}
