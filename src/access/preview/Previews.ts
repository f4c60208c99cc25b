/**
 * The previews of an account's Sandboxes, and the lookup of host names.
 *
 * @source contract.md "Previews", contract-details.md "Fine print"
 */
import { Context, type Effect } from "effect"
import type {
  CleanupPending,
  NetworkDisabled,
  NotFound,
  PreviewExists,
  PreviewTransportUnavailable
} from "../../../schemas/Errors.ts"
import type { ListedPreview, Preview } from "../../../schemas/Preview.ts"
import type { Boot } from "../gateway/SandboxReach.ts"

/** The target of an active preview. */
export interface PreviewTarget extends Boot {
  readonly actorId: string
  readonly port: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export class Previews extends Context.Service<
  Previews,
  {
    readonly create: (
      accountId: string,
      sandboxId: string,
      options: { readonly requestId: string; readonly port: number; readonly alongside?: boolean }
    ) => Effect.Effect<Preview, NotFound | NetworkDisabled | PreviewExists | PreviewTransportUnavailable>
    /** The open preview of that port, as `create` returned it. */
    readonly lookUp: (accountId: string, sandboxId: string, port: number) => Effect.Effect<Preview, NotFound>
    /** Once it returns, or fails with CleanupPending, the host name is invalid in every process. */
    readonly close: (
      accountId: string,
      sandboxId: string,
      previewId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<void, NotFound | CleanupPending>
    /** The same for all open previews of this Sandbox. */
    readonly closeAll: (
      accountId: string,
      sandboxId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<void, NotFound | CleanupPending>
    /** Newest first, including closed ones. */
    readonly list: (accountId: string, sandboxId: string) => Effect.Effect<ReadonlyArray<ListedPreview>, NotFound>
    /** Null for a host name that is unknown, not served yet, or closed. */
    readonly find: (previewId: string) => Effect.Effect<PreviewTarget | null>
    /** What `find` would give, if it was read so recently that this needs no wait; else null. */
    readonly leased: (previewId: string, nowMs: number) => PreviewTarget | null
  }
>()("atoll/access/preview/Previews") {}
