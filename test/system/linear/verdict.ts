/**
 * Verdicts, each in a separate thread: one search may take a minute, and calls of other clients that were begun before
 * would not go on meanwhile. A service answers 408 to a request whose head does not arrive.
 */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import type { linearize } from "../../../src/proofs/linear/linearize.ts"
import type { History } from "../../../src/proofs/linear/Model.ts"
import type { Answer, Does } from "../../proofs/linear/calls.ts"

export interface ToJudge {
  readonly history: History<Does, Answer>
  /** Hosts may be lost. */
  readonly hostsEnd: boolean
}

export interface Judged {
  readonly is: ReturnType<typeof linearize>["is"]
  /** Of a history that is refused: the shortest part that is, and why. */
  readonly text: string | null
}

export const verdictOf = async (given: ToJudge): Promise<Judged> => {
  const judge = new Worker(new URL("./judge.ts", import.meta.url), { workerData: given })
  const [judged] = await once(judge, "message")
  return judged
}
