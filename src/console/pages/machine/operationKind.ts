import operationChart from "../../../../docs/machines/operation.json" with { type: "json" }
import { operationMachine } from "../../../../machines/operation.ts"
import { chartOf, type Kind } from "./Kind.ts"

export const operationKind: Kind = {
  kind: "operation",
  title: "Operation",
  machine: operationMachine,
  chart: chartOf(operationMachine, operationChart)
}
