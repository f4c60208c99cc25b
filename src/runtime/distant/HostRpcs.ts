/**
 * What a service asks of a host, over `atoll-host/1`: the calls of `Runtime`, by its own errors.
 *
 * Each names the host that it is meant for: an address may be another host's by now. What a host says is held to these schemas; whoever reads it
 * bounds what they leave open (`distantRuntime`).
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported } from "../Runtime.ts"
import { HostDescription } from "./HostDescription.ts"
import { FAULT_MAX_CHARS, Generation, Id, Prose } from "./hostTold.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
/** What is measured of all Sandboxes of a moment is stored in one statement, which one number that is out of its range would spoil for all. */
const Bytes = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
const CpuSeconds = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e11 }))
/** A host tells it to customers: it was public text there. */
const Message = Prose(FAULT_MAX_CHARS).pipe(Schema.brand("PublicText"))

/** More than a host can carry. */
const INVENTORY_MAX = 65_536

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

/** As much as a driver reads of a console at once. */
const CONSOLE_CHUNK_MAX_BYTES = 64 * 1024

export const ToldConsole = Schema.Struct({
  ...told,
  // Far below what cannot be counted on from.
  offset: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 50 })),
  bytes: Schema.Uint8Array.check(
    Schema.makeFilter<Uint8Array>(({ length }) => length <= CONSOLE_CHUNK_MAX_BYTES, {
      expected: `at most ${CONSOLE_CHUNK_MAX_BYTES} bytes`
    })
  )
})

export const HostRpcs = RpcGroup.make(
  Rpc.make("Describe", { success: HostDescription, error: RuntimeUnavailable }),
  /** Says `turn` once where it does not wait any more, and ends when the guest answers. Interrupted before its turn, it leaves the line. */
  Rpc.make("Provision", {
    payload: { ...runtime, vcpus: Count, memoryBytes: Count, volumeBytes: Count, networkEnabled: Schema.Boolean },
    success: Schema.Literal("turn"),
    error: Schema.Union([RuntimeRefused, RuntimeUnavailable]),
    stream: true
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
  /** What is known of each Sandbox first, then what changes. */
  Rpc.make("Downs", { payload: host, success: ToldDown, error: RuntimeUnavailable, stream: true }),
  Rpc.make("Stalls", { payload: host, success: ToldStall, error: RuntimeUnavailable, stream: true }),
  /** To one service at a time: who asked last. The last of what was told before comes again. */
  Rpc.make("Console", { payload: host, success: ToldConsole, error: RuntimeUnavailable, stream: true })
)
