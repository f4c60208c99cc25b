/** What a host says of itself to the services that use it. */
import { Schema } from "effect"

/** What all Sandboxes of a host together may have. */
export const HostCapacity = Schema.Struct({
  vcpus: Schema.Int,
  memoryBytes: Schema.Int,
  /** For volumes. */
  diskBytes: Schema.Int,
  /** Sandboxes that boot at once. */
  parallelStarts: Schema.Int
})
export interface HostCapacity extends Schema.Schema.Type<typeof HostCapacity> {}

export const HostDescription = Schema.Struct({
  /** `host_` and 24 hex digits: the id of its data folder. */
  hostId: Schema.String,
  /** For people: its data folder and its name. */
  label: Schema.String,
  /** Where services reach it. */
  address: Schema.Struct({ host: Schema.String, port: Schema.Int }),
  /** The database whose Sandboxes its folder carries; null: none yet. */
  installation: Schema.NullOr(Schema.String),
  /** Of this process: another one after each start. */
  boot: Schema.String,
  /** Of Atoll. */
  version: Schema.String,
  driver: Schema.Literals(["namespace", "qemu", "simulated", "fleet"]),
  kind: Schema.Literals(["vm", "namespace"]),
  capacity: HostCapacity,
  suspends: Schema.Boolean,
  networkFiltered: Schema.Boolean,
  /** Why no Sandbox with network would boot there now; null: it would. */
  networkRefused: Schema.NullOr(Schema.String)
})
export interface HostDescription extends Schema.Schema.Type<typeof HostDescription> {}
