/** Every machine with its drawing, and with what its simulator begins with and sends when nobody changes it. */
import type { AnyStateMachine } from "xstate"
import connectionGrantChart from "../../../../docs/machines/connectionGrant.json" with { type: "json" }
import operationChart from "../../../../docs/machines/operation.json" with { type: "json" }
import previewChart from "../../../../docs/machines/preview.json" with { type: "json" }
import sandboxChart from "../../../../docs/machines/sandbox.json" with { type: "json" }
import serviceAccessChart from "../../../../docs/machines/serviceAccess.json" with { type: "json" }
import walletChart from "../../../../docs/machines/wallet.json" with { type: "json" }
import { connectionGrantMachine } from "../../../../machines/connectionGrant.ts"
import { operationMachine } from "../../../../machines/operation.ts"
import { previewMachine } from "../../../../machines/preview.ts"
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import { serviceAccessMachine } from "../../../../machines/serviceAccess.ts"
import { walletMachine } from "../../../../machines/wallet.ts"
import type { Statechart } from "../../../statechart/Statechart.ts"
import { samples } from "./samples.ts"

export interface Kind {
  readonly kind: string
  readonly title: string
  readonly machine: AnyStateMachine
  readonly chart: Statechart
  /** What its simulator begins with at an instant (epoch milliseconds). */
  readonly input: (at: number) => object
  /** By event: its fields besides `type` and `at`. */
  readonly parameters: Readonly<Record<string, (context: never) => object>>
}

// The files are what `npm run machines` makes of a Statechart; TypeScript widens what it reads from JSON.
const chart = (json: unknown) => json as Statechart

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

export const kinds: ReadonlyArray<Kind> = [
  sandboxKind,
  operationKind,
  { kind: "preview", title: "Preview", machine: previewMachine, chart: chart(previewChart), ...samples.preview },
  {
    kind: "serviceAccess",
    title: "Service access",
    machine: serviceAccessMachine,
    chart: chart(serviceAccessChart),
    ...samples.serviceAccess
  },
  {
    kind: "connectionGrant",
    title: "Connection grant",
    machine: connectionGrantMachine,
    chart: chart(connectionGrantChart),
    ...samples.connectionGrant
  },
  { kind: "wallet", title: "Wallet", machine: walletMachine, chart: chart(walletChart), ...samples.wallet }
]
