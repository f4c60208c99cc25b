/** Every kind of machine. */
import connectionGrantChart from "../../../../docs/machines/connectionGrant.json" with { type: "json" }
import imageChart from "../../../../docs/machines/image.json" with { type: "json" }
import previewChart from "../../../../docs/machines/preview.json" with { type: "json" }
import serviceAccessChart from "../../../../docs/machines/serviceAccess.json" with { type: "json" }
import snapshotChart from "../../../../docs/machines/snapshot.json" with { type: "json" }
import walletChart from "../../../../docs/machines/wallet.json" with { type: "json" }
import { connectionGrantMachine } from "../../../../machines/connectionGrant.ts"
import { imageMachine } from "../../../../machines/image.ts"
import { previewMachine } from "../../../../machines/preview.ts"
import { serviceAccessMachine } from "../../../../machines/serviceAccess.ts"
import { snapshotMachine } from "../../../../machines/snapshot.ts"
import { walletMachine } from "../../../../machines/wallet.ts"
import { chartOf, type SimulatedKind } from "./Kind.ts"
import { operationKind } from "./operationKind.ts"
import { samples } from "./samples.ts"
import { sandboxKind } from "./sandboxKind.ts"

export const kinds: ReadonlyArray<SimulatedKind> = [
  { ...sandboxKind, ...samples.sandbox },
  { ...operationKind, ...samples.operation },
  {
    kind: "preview",
    title: "Preview",
    machine: previewMachine,
    chart: chartOf(previewMachine, previewChart),
    ...samples.preview
  },
  {
    kind: "serviceAccess",
    title: "Service access",
    machine: serviceAccessMachine,
    chart: chartOf(serviceAccessMachine, serviceAccessChart),
    ...samples.serviceAccess
  },
  {
    kind: "connectionGrant",
    title: "Connection grant",
    machine: connectionGrantMachine,
    chart: chartOf(connectionGrantMachine, connectionGrantChart),
    ...samples.connectionGrant
  },
  {
    kind: "snapshot",
    title: "Snapshot",
    machine: snapshotMachine,
    chart: chartOf(snapshotMachine, snapshotChart),
    ...samples.snapshot
  },
  {
    kind: "image",
    title: "Image",
    machine: imageMachine,
    chart: chartOf(imageMachine, imageChart),
    ...samples.image
  },
  {
    kind: "wallet",
    title: "Wallet",
    machine: walletMachine,
    chart: chartOf(walletMachine, walletChart),
    ...samples.wallet
  }
]
