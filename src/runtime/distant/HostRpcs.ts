/**
 * The calls of a service to a host, over `atoll-host/1`: those of `Runtime`, with the same errors.
 *
 * Each names the intended host, because the address may belong to another host by now. These schemas check the host's answers; the caller bounds the
 * fields that they leave open (`distantRuntime`).
 */
import { Schema } from "effect"
import { Rpc, type RpcClient, type RpcClientError, RpcGroup } from "effect/rpc"
import { RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported } from "../Runtime.ts"
import { HostDescription } from "./HostDescription.ts"
import { FAULT_MAX_CHARS, Generation, Id, Prose } from "./hostTold.ts"
import { Digest, Owner, VolumeBytes } from "./snapshotWire.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
/** With tenths. */
const Vcpus = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1024 }))
/** All samples of one moment are stored in one statement, which a single number out of range would make fail. */
const Bytes = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
const CpuSeconds = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e11 }))
/** A host's text for customers, which was already public text there. */
const Message = Prose(FAULT_MAX_CHARS).pipe(Schema.brand("PublicText"))

/** A day is longer than any pause. */
const Milliseconds = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 86_400_000 }))

/** More Sandboxes than a host can run. */
const INVENTORY_MAX = 65_536
/** More images than the disk of a host holds. */
const IMAGES_MAX = 65_536
/** More snapshots than the disk of a host holds. */
const SNAPSHOTS_MAX = 262_144

/** Longer than any variable's name, and than any folder's path. */
const NAME_MAX_CHARS = 32 * 1024
const Text = Schema.String.check(Schema.isMaxLength(NAME_MAX_CHARS))

const PulledImage = Schema.Struct({
  digest: Digest,
  sizeBytes: Bytes,
  storedBytes: Bytes,
  config: Schema.Struct({ env: Schema.Record(Text, Text), workingDir: Schema.NullOr(Text) })
})

/** The registry's address and tag, with the account's name and password there: only over the fleet's own connections, and in no log. */
const source = {
  reference: Schema.String,
  credentials: Schema.NullOr(
    Schema.Struct({
      username: Schema.String,
      password: Schema.RedactedFromValue(Schema.String)
    })
  )
}

const host = { hostId: Id }
const sandbox = { ...host, sandboxId: Id }
const runtime = { ...sandbox, generation: Generation }
const told = { sandboxId: Id, generation: Generation }

export const ToldDown = Schema.Struct({
  type: Schema.Literal("down"),
  ...told,
  reason: Schema.Struct({ code: Schema.Literals(["EXITED", "CRASHED"]), message: Message })
})

export const ToldStall = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("stalled"),
    ...told,
    reason: Schema.Struct({ code: Schema.Literals(["HOST_FULL", "HOST_FAILED"]), message: Message })
  }),
  Schema.Struct({ type: Schema.Literal("resumed"), ...told })
])

/** As much as a driver reads of a console in one read. */
const CONSOLE_CHUNK_MAX_BYTES = 64 * 1024

export const ToldConsole = Schema.Struct({
  ...told,
  // Far below the point where adding to a double stops being exact.
  offset: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 50 })),
  bytes: Schema.Uint8Array.check(
    Schema.makeFilter<Uint8Array>(({ length }) => length <= CONSOLE_CHUNK_MAX_BYTES, {
      expected: `at most ${CONSOLE_CHUNK_MAX_BYTES} bytes`
    })
  )
})

export const HostRpcs = RpcGroup.make(
  Rpc.make("Describe", { success: HostDescription, error: RuntimeUnavailable }),
  /** Emits `turn` once when it no longer waits, and ends when the guest answers. An interruption before that removes it from the queue. */
  Rpc.make("Provision", {
    payload: {
      ...runtime,
      vcpus: Vcpus,
      memoryBytes: Count,
      volumeBytes: Count,
      networkEnabled: Schema.Boolean,
      snapshotId: Schema.optionalKey(Id),
      image: Schema.optionalKey(Schema.Struct({ ...source, digest: Digest })),
      builder: Schema.optionalKey(Schema.Literal(true))
    },
    success: Schema.Literal("turn"),
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable]),
    stream: true
  }),
  /** A host of an older version does not know it: its Sandboxes get other sizes at their next boot. */
  Rpc.make("Resize", {
    payload: { ...runtime, vcpus: Vcpus, memoryBytes: Count, volumeBytes: Count },
    error: RuntimeUnavailable
  }),
  Rpc.make("Stop", { payload: runtime, error: RuntimeUnavailable }),
  Rpc.make("Destroy", { payload: sandbox, error: RuntimeUnavailable }),
  Rpc.make("Suspend", { payload: runtime, error: Schema.Union([RuntimeUnavailable, RuntimeUnsupported]) }),
  Rpc.make("Inventory", {
    payload: host,
    success: Schema.Array(
      Schema.Struct({
        sandboxId: Id,
        state: Schema.Literals(["running", "suspended", "volume"]),
        generation: Schema.NullOr(Generation)
      })
    ).check(Schema.isMaxLength(INVENTORY_MAX)),
    error: RuntimeUnavailable
  }),
  Rpc.make("CaptureSnapshot", {
    payload: { ...sandbox, snapshotId: Id, memory: Schema.optionalKey(Schema.Boolean) },
    success: Schema.Struct({ sizeBytes: Bytes, storedBytes: Bytes, pausedMs: Milliseconds }),
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported])
  }),
  Rpc.make("RestoreSnapshot", {
    payload: { ...runtime, snapshotId: Id },
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported])
  }),
  /** Of a snapshot that is there; its content has a connection of the protocol `atoll-snapshot/1`. */
  Rpc.make("SnapshotImage", {
    payload: { ...host, snapshotId: Id },
    success: Schema.Struct({ sizeBytes: VolumeBytes, owner: Owner }),
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported])
  }),
  Rpc.make("AcceptSnapshot", {
    payload: { ...host, snapshotId: Id },
    success: Schema.Struct({ sizeBytes: Bytes, storedBytes: Bytes, pausedMs: Milliseconds }),
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported])
  }),
  Rpc.make("RemoveSnapshot", { payload: { ...host, snapshotId: Id }, error: RuntimeUnavailable }),
  /** The ids of all that it has, whole or unfinished. */
  Rpc.make("Snapshots", {
    payload: host,
    success: Schema.Array(Id).check(Schema.isMaxLength(SNAPSHOTS_MAX)),
    error: RuntimeUnavailable
  }),
  /** Ends once the host has the whole image. An interruption ends the pull. */
  Rpc.make("PullImage", {
    payload: { ...host, ...source, digest: Schema.NullOr(Digest) },
    success: PulledImage,
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable])
  }),
  /** As `PullImage`, of an archive; that has a connection of the protocol `atoll-snapshot/1`. */
  Rpc.make("AcceptImage", {
    payload: { ...host, imageId: Id },
    success: PulledImage,
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable])
  }),
  Rpc.make("DiscardImage", { payload: { ...host, imageId: Id }, error: RuntimeUnavailable }),
  /** The images of which it has an archive, or a record of one. */
  Rpc.make("UploadedImages", {
    payload: host,
    success: Schema.Array(Id).check(Schema.isMaxLength(IMAGES_MAX)),
    error: RuntimeUnavailable
  }),
  Rpc.make("RemoveImage", { payload: { ...host, digest: Digest }, error: RuntimeUnavailable }),
  /** The digests of all that it has, whole or unfinished. */
  Rpc.make("Images", {
    payload: host,
    success: Schema.Array(Digest).check(Schema.isMaxLength(IMAGES_MAX)),
    error: RuntimeUnavailable
  }),
  Rpc.make("Sample", {
    payload: runtime,
    success: Schema.Struct({
      cpuSeconds: Schema.NullOr(CpuSeconds),
      memoryBytes: Schema.NullOr(Bytes),
      volumeBytes: Schema.NullOr(Bytes),
      networkRxBytes: Schema.NullOr(Bytes),
      networkTxBytes: Schema.NullOr(Bytes)
    }),
    error: RuntimeUnavailable
  }),
  /** First the latest news of each Sandbox, then the changes. */
  Rpc.make("Downs", { payload: host, success: ToldDown, error: RuntimeUnavailable, stream: true }),
  Rpc.make("Stalls", { payload: host, success: ToldStall, error: RuntimeUnavailable, stream: true }),
  /** Serves one service at a time: the last one that asked. The last bytes delivered before come again. */
  Rpc.make("Console", { payload: host, success: ToldConsole, error: RuntimeUnavailable, stream: true })
)

export type HostClient = RpcClient.RpcClient<RpcGroup.Rpcs<typeof HostRpcs>, RpcClientError.RpcClientError>
