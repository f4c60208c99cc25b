/** Every machine. */
import connectionGrantChart from "../../../../docs/machines/connectionGrant.json" with { type: "json" }
import previewChart from "../../../../docs/machines/preview.json" with { type: "json" }
import serviceAccessChart from "../../../../docs/machines/serviceAccess.json" with { type: "json" }
import walletChart from "../../../../docs/machines/wallet.json" with { type: "json" }
import { connectionGrantMachine } from "../../../../machines/connectionGrant.ts"
import { previewMachine } from "../../../../machines/preview.ts"
import { serviceAccessMachine } from "../../../../machines/serviceAccess.ts"
import { walletMachine } from "../../../../machines/wallet.ts"
import { chart, type Kind } from "./Kind.ts"
import { operationKind, sandboxKind } from "./livedKinds.ts"
import { samples } from "./samples.ts"

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
