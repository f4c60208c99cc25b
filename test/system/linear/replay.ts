/**
 * `npx node test/system/linear/replay.ts [--hosts] [--plain] FILES`: the verdict about histories that `--save` has written, and how much was searched.
 * `--plain`: without foresight. `--hosts`: hosts may be lost.
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { linearize } from "../../../src/proofs/linear/linearize.ts"
import type { History } from "../../../src/proofs/linear/Model.ts"
import { refusalText } from "../../../src/proofs/linear/report.ts"
import { shrink } from "../../../src/proofs/linear/shrink.ts"
import type { Answer, Does } from "../../proofs/linear/calls.ts"
import { contractOf } from "../../proofs/linear/contract/contract.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { plain: { type: "boolean", default: false }, hosts: { type: "boolean", default: false } }
})
const { foresee, ...plain } = contractOf({ hostsEnd: values.hosts })
const model = values.plain || foresee === undefined ? plain : { ...plain, foresee }

for (const file of positionals) {
  const history: History<Does, Answer> = JSON.parse(readFileSync(file, "utf8"))
  const beganAt = performance.now()
  const verdict = linearize(model, history)
  const lost = history.filter(({ answered }) => answered === null).length
  const ms = Math.round(performance.now() - beganAt)
  console.log(`${file}: ${verdict.is}, ${history.length} calls, ${lost} lost, ${verdict.seen} combinations, ${ms} ms`)
  if (verdict.is !== "linearizable") process.exitCode = 1
  if (verdict.is === "refused") console.log(refusalText(model, shrink(model, history)))
}
