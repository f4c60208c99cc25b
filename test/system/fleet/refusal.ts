import { Effect } from "effect"
import { probe } from "../../../src/host/namespace/probe.ts"
import { Net } from "../../support/fleet/Net.ts"

/** Why no fleet of real processes can run here, one sentence; null: it can. */
const sentence = async (): Promise<string | null> => {
  const found = await Effect.runPromise(probe)
  return found.ok ? Net.refusal() : found.reason
}

export const refusal = await sentence()
if (refusal !== null) console.warn(`Skipped: ${refusal}`)
