/** How a host makes itself known to a service, any of them: over `atoll-join/1`. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { HostCapacity, HostDescription, NetworkRefused } from "./HostDescription.ts"
import { HostId, HostKey, Id } from "./hostTold.ts"

/** It may not join. `message` is one sentence for its operator. `isFinal`: that will not change while it runs as it is. */
export class JoinRefused extends Schema.TaggedError<JoinRefused>()("JoinRefused", {
  message: Schema.String,
  isFinal: Schema.Boolean
}) {}

/** That process of that host is not known (any more): it joins anew. */
export class HostUnknown extends Schema.TaggedError<HostUnknown>()("HostUnknown", {}) {}

export const JoinRpcs = RpcGroup.make(
  /** `key`: 64 hex digits; who has joined with one comes back with that one only. `installation`: what its folder belongs to from now on. It beats every `beatEveryMs`. */
  Rpc.make("Join", {
    payload: { ...HostDescription.fields, key: HostKey },
    success: Schema.Struct({ installation: Schema.String, beatEveryMs: Schema.Int }),
    error: JoinRefused
  }),
  /** It is there, and this is what of it may have changed. */
  Rpc.make("Beat", {
    payload: {
      hostId: HostId,
      boot: Id,
      capacity: HostCapacity,
      networkRefused: NetworkRefused
    },
    error: HostUnknown
  }),
  /** Its process ends in order; its Sandboxes go on. */
  Rpc.make("Leave", { payload: { hostId: HostId, boot: Id } })
)
