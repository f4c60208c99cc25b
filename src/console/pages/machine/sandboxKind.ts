import sandboxChart from "../../../../docs/machines/sandbox.json" with { type: "json" }
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import { chartOf, type Kind } from "./Kind.ts"

export const sandboxKind: Kind = {
  kind: "sandbox",
  title: "Sandbox",
  machine: sandboxMachine,
  chart: chartOf(sandboxMachine, sandboxChart)
}
