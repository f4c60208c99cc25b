/** The machines whose lives have pages of their own: those pages bring no others along. */
import operationChart from "../../../../docs/machines/operation.json" with { type: "json" }
import sandboxChart from "../../../../docs/machines/sandbox.json" with { type: "json" }
import { operationMachine } from "../../../../machines/operation.ts"
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import { chart, type Kind } from "./Kind.ts"
import { samples } from "./samples.ts"

export const sandboxKind: Kind = {
  kind: "sandbox",
  title: "Sandbox",
  machine: sandboxMachine,
  chart: chart(sandboxChart),
  ...samples.sandbox
}

export const operationKind: Kind = {
  kind: "operation",
  title: "Operation",
  machine: operationMachine,
  chart: chart(operationChart),
  ...samples.operation
}
