/** The description that a host gives of itself to the services that use it. */
import { Schema } from "effect"
import { Address, FAULT_MAX_CHARS, HostId, Id, Prose } from "./hostTold.ts"

/** Reservations are sums of these, and PostgreSQL integers. */
const Pieces = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Bytes = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The capacity for all Sandboxes of a host together. */
export const HostCapacity = Schema.Struct({
  vcpus: Pieces,
  memoryBytes: Bytes,
  /** For volumes. */
  diskBytes: Bytes,
  /** Sandboxes that boot concurrently. */
  parallelStarts: Pieces
})
export interface HostCapacity extends Schema.Schema.Type<typeof HostCapacity> {}

/** Why no Sandbox with network can boot there now; null when it can. */
export const NetworkRefused = Schema.NullOr(Prose(FAULT_MAX_CHARS))

export const HostDescription = Schema.Struct({
  /** `host_` and 24 hex digits: the id of its data folder. */
  hostId: HostId,
  /** For people: its data folder and its name. */
  label: Prose(512),
  /** Where services reach it. */
  address: Address,
  /** The database whose Sandboxes its folder holds; null when there is none yet. */
  installation: Schema.NullOr(Schema.String.check(Schema.isMaxLength(64))),
  /** Identifies this process: a new id after each start. */
  boot: Id,
  /** The version of Atoll. */
  version: Prose(64),
  driver: Schema.Literals(["namespace", "qemu", "simulated", "fleet"]),
  kind: Schema.Literals(["vm", "namespace"]),
  capacity: HostCapacity,
  suspends: Schema.Boolean,
  /** It knows the calls for snapshots. Absent: it is of a version that does not. */
  takesSnapshots: Schema.optionalKey(Schema.Boolean),
  /** It knows the call that replaces a volume by a snapshot. Absent: it is of a version that does not. */
  restoresSnapshots: Schema.optionalKey(Schema.Boolean),
  /** Snapshots can have memory there. Absent: it is of a version that does not know them. */
  keepsMemory: Schema.optionalKey(Schema.Boolean),
  /** The content of snapshots can leave it and come to it. Absent: it is of a version that cannot. */
  movesSnapshots: Schema.optionalKey(Schema.Boolean),
  /** It can pull images and give them to Sandboxes as their roots. Absent: it is of a version that does not know the calls for images. */
  runsImages: Schema.optionalKey(Schema.Boolean),
  /** It can boot Sandboxes that build Dockerfiles. Absent: it is of a version that cannot. */
  buildsImages: Schema.optionalKey(Schema.Boolean),
  /** It takes archives of images, and images leave it and come to it. Absent: it is of a version that does neither. */
  movesImages: Schema.optionalKey(Schema.Boolean),
  networkFiltered: Schema.Boolean,
  networkRefused: NetworkRefused
})
export interface HostDescription extends Schema.Schema.Type<typeof HostDescription> {}
