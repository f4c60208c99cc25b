/**
 * TCP access to the ports of an account's Sandboxes.
 *
 * @source contract.md "TCP service access", contract-details.md "Fine print"
 */
import { Context, type Effect } from "effect"
import type {
  InvalidRequest,
  NotFound,
  SandboxUnavailable,
  Unauthenticated,
  UnsupportedByRuntime
} from "../../../schemas/Errors.ts"
import type {
  ServiceAccessEnvelope,
  ServiceAccessRequest,
  ServiceAccessRevoke
} from "../../../schemas/ServiceAccess.ts"
import type { Boot } from "../gateway/SandboxReach.ts"
import type { Claims } from "./Capability.ts"

type Unreachable = NotFound | UnsupportedByRuntime | SandboxUnavailable

interface Asked {
  readonly requestId: string
  /** The caller's UUID v4. */
  readonly generationId: string
  readonly request: ServiceAccessRequest
}

/** A TCP connection that a capability admits. */
export interface Admission extends Boot {
  readonly actorId: string
  /** The caller's UUID, in lower case. */
  readonly generationId: string
  readonly port: number
  readonly client: string
}

export class ServiceAccesses extends Context.Service<
  ServiceAccesses,
  {
    readonly create: (
      accountId: string,
      sandboxId: string,
      asked: Asked
    ) => Effect.Effect<ServiceAccessEnvelope, Unreachable | InvalidRequest>
    readonly lookUp: (
      accountId: string,
      sandboxId: string,
      asked: Asked
    ) => Effect.Effect<ServiceAccessEnvelope, Unreachable | InvalidRequest>
    readonly revoke: (
      accountId: string,
      sandboxId: string,
      generationId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<ServiceAccessRevoke, Unreachable>
    /** The claims of a capability. Unauthenticated: it is not from this server, or has expired. */
    readonly recognise: (capability: string) => Effect.Effect<Claims, Unauthenticated | UnsupportedByRuntime>
    /** Changes nothing. Unauthenticated: the access was revoked. NotFound: it does not include that port. */
    readonly check: (claims: Claims, port: number) => Effect.Effect<void, Unauthenticated | NotFound>
    /** Retains `client`. Unauthenticated: the access was revoked. NotFound: it does not include that port. */
    readonly admit: (
      claims: Claims,
      port: number,
      client: string
    ) => Effect.Effect<Admission, Unauthenticated | NotFound | SandboxUnavailable>
  }
>()("atoll/access/serviceAccess/ServiceAccesses") {}
