/** The last killer: a mutant that breaks an invariant of the product, in the first steps of the scopes that have its machine. */
import type { AnyStateMachine } from "xstate"
import { explore } from "../../../../src/proofs/explore/explore.ts"
import { ourMachines, productOf, type ScopeName } from "../../product/scopes.ts"

const scopesOf: Readonly<Record<string, ReadonlyArray<ScopeName>>> = {
  sandbox: ["sandbox", "lifetimes"],
  operation: ["operation"],
  preview: ["preview"],
  serviceAccess: ["access"],
  connectionGrant: ["access"],
  wallet: ["money"],
  host: ["fleet"],
  snapshot: ["snapshots", "fork"],
  image: ["images", "build"]
}

const depth = 7
/** The first look, which finds out what is read, takes a part of that. */
const surveyedMax = 200

/** @param seconds For each scope. */
export const killByExploration = async (mutant: AnyStateMachine, seconds: number): Promise<string | null> => {
  for (const scope of scopesOf[mutant.id]!) {
    const product = productOf(scope, { ...ourMachines, [mutant.id]: mutant })
    const { violations } = await explore(product, { depth, seconds }, () => {}, surveyedMax)
    if (violations.length > 0) return `${scope}: ${violations[0]!.sentence}`
  }
  return null
}
