/**
 * Cooperative connections to an account's Sandboxes.
 *
 * @source contract.md "Cooperative connection", contract-details.md "Fine print"
 */
import { Context, type Effect } from "effect"
import type { CooperativeEnvelope, CooperativeRevoke } from "../../../schemas/Cooperative.ts"
import type { InvalidRequest, NotFound, SandboxUnavailable, UnsupportedByRuntime } from "../../../schemas/Errors.ts"
import type { Boot } from "../gateway/SandboxReach.ts"

type Unreachable = NotFound | UnsupportedByRuntime | SandboxUnavailable

/** A connection that a grant admitted. */
export interface SshAdmission extends Boot {
  readonly actorId: string
}

export class ConnectionGrants extends Context.Service<
  ConnectionGrants,
  {
    readonly grant: (
      accountId: string,
      sandboxId: string,
      asked: { readonly requestId: string; readonly publicKeys: ReadonlyArray<string> }
    ) => Effect.Effect<CooperativeEnvelope, Unreachable | InvalidRequest>
    /** The original grant for the same keys. */
    readonly recover: (
      accountId: string,
      sandboxId: string,
      endpointId: string,
      publicKeys: ReadonlyArray<string>
    ) => Effect.Effect<CooperativeEnvelope, Unreachable | InvalidRequest>
    readonly revoke: (
      accountId: string,
      sandboxId: string,
      endpointId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<CooperativeRevoke, Unreachable>
    /** The canonical form of the key with this SSH blob, if it may open a connection now. */
    readonly keyFor: (endpointId: string, blob: Uint8Array) => Effect.Effect<string | null>
    /** Called once the client has proved possession of such a key. Null when the grant has expired meanwhile. */
    readonly connect: (endpointId: string) => Effect.Effect<SshAdmission | null>
  }
>()("atoll/access/ssh/ConnectionGrants") {}
