/** The program of a verdict's thread: whether a history is explained, and the text about one that is not. */
import { parentPort, workerData } from "node:worker_threads"
import { linearize } from "../../../src/proofs/linear/linearize.ts"
import { refusalText } from "../../../src/proofs/linear/report.ts"
import { shrink } from "../../../src/proofs/linear/shrink.ts"
import { contractOf } from "../../proofs/linear/contract/contract.ts"
import type { Judged, ToJudge } from "./verdict.ts"

const { history, hostsEnd } = workerData as ToJudge
const contract = contractOf({ hostsEnd })
const { is } = linearize(contract, history)
const text = (): string => {
  const beganAt = Math.min(...history.map(({ invokedAt }) => invokedAt))
  return refusalText(contract, shrink(contract, history), beganAt)
}
parentPort!.postMessage({ is, text: is === "refused" ? text() : null } satisfies Judged)
