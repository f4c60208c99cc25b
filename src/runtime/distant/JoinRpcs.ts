/** The calls of a host to a service, any of them, over `atoll-join/1`. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { HostCapacity, HostDescription, NetworkRefused } from "./HostDescription.ts"
import { HostId, HostKey, Id } from "./hostTold.ts"

/** The host may not join. `message` is one sentence for its operator. `isFinal`: that will not change while the host process runs with these settings. */
export class JoinRefused extends Schema.TaggedError<JoinRefused>()("JoinRefused", {
  message: Schema.String,
  isFinal: Schema.Boolean
}) {}

/** The service does not know that process of that host (any more): it must join again. */
export class HostUnknown extends Schema.TaggedError<HostUnknown>()("HostUnknown", {}) {}

export const JoinRpcs = RpcGroup.make(
  /**
   * `key`: 64 hex digits; a host that has joined with a key must use the same key later. `installation`: the database to which its folder belongs
   * from then on. It sends a heartbeat every `beatEveryMs`.
   */
  Rpc.make("Join", {
    payload: { ...HostDescription.fields, key: HostKey },
    success: Schema.Struct({ installation: Schema.String, beatEveryMs: Schema.Int }),
    error: JoinRefused
  }),
  /** A heartbeat, with the fields that may have changed. */
  Rpc.make("Beat", {
    payload: {
      hostId: HostId,
      boot: Id,
      capacity: HostCapacity,
      networkRefused: NetworkRefused
    },
    error: HostUnknown
  }),
  /** Its process stops in an orderly way; its Sandboxes keep running. */
  Rpc.make("Leave", { payload: { hostId: HostId, boot: Id } })
)
