/** `atoll/proofs`: explores products of machines, and checks what concurrent clients saw against a specification. */
export { NOW } from "../proofs/explore/canonical.ts"
export { type Explored, explore, type Limits, type Progress } from "../proofs/explore/explore.ts"
export type {
  ActorKind,
  ActorView,
  CommandTable,
  EdgeInvariant,
  Happening,
  Liveness,
  Outcome,
  Product,
  ProductView,
  StateInvariant
} from "../proofs/explore/Product.ts"
export { coverageText, progressLine, summaryLine, violationText } from "../proofs/explore/summary.ts"
export { linearize, type SearchLimits, type Verdict } from "../proofs/linear/linearize.ts"
export { type Call, type History, type Model, partitioned } from "../proofs/linear/Model.ts"
export { historyText, refusalText } from "../proofs/linear/report.ts"
export { type Shrunk, shrink } from "../proofs/linear/shrink.ts"
