/** `atoll/proofs`: explores products of machines. */
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
