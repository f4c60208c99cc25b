import hostChart from "../../../../docs/machines/host.json" with { type: "json" }
import { hostMachine } from "../../../../machines/host.ts"
import { chartOf, type Kind } from "./Kind.ts"

export const hostKind: Kind = {
  kind: "host",
  title: "Host",
  machine: hostMachine,
  chart: chartOf(hostMachine, hostChart)
}
