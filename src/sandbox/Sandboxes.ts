/**
 * The service for the Sandboxes of an account. The HTTP handlers call it; it knows no HTTP.
 *
 * Every call names the calling account: a Sandbox of another account is NOT_FOUND. A malformed cursor is INVALID_REQUEST with the
 * path `["cursor"]`. `requestId` goes into the transition log.
 *
 * @source contract.md "Sandboxes", contract-details.md "Behaviour that the contract leaves open"
 */
import { Context, type Effect } from "effect"
import type {
  AccountSuspended,
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  SandboxLimitReached,
  SandboxUnavailable,
  ScopeRequired,
  StorageLimitReached,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import type { ImageNotReady } from "../../schemas/ImageErrors.ts"
import type { CreateSandboxRequest, Sandbox, SandboxList, UpdateSandboxRequest } from "../../schemas/Sandbox.ts"
import type { MemoryInUse } from "../../schemas/SandboxProfile.ts"
import type { SandboxStatus } from "../../schemas/SandboxStatus.ts"
import type { SnapshotNotReady } from "../../schemas/SnapshotErrors.ts"
import type { SandboxHistory, TransitionList } from "../../schemas/Transition.ts"

type Unreachable = NotFound | UnsupportedByRuntime | SandboxUnavailable
type Limit = CreditExhausted | SandboxLimitReached | StorageLimitReached

/** `limit` null: all Sandboxes, unless a cursor is given (then 100). */
export interface SandboxFilter {
  /** Any of them. */
  readonly status: ReadonlyArray<SandboxStatus> | null
  readonly workspaceId: string | null
  /** Every pair must match. */
  readonly metadata: Readonly<Record<string, string>>
  readonly limit: number | null
  readonly cursor: string | null
}

export interface Page {
  readonly limit: number
  readonly cursor: string | null
}

export class Sandboxes extends Context.Service<
  Sandboxes,
  {
    /** `fingerprint` is the SHA-256 of method, path and canonical JSON body. `replayStatus` is the status to answer with. */
    readonly create: (options: {
      readonly accountId: string
      readonly requestId: string
      /** Null: the request is not repeatable. Refused for a virtual machine. */
      readonly idempotencyKey: string | null
      readonly fingerprint: string
      readonly request: CreateSandboxRequest
      /** Like a replay, answers once the Sandbox runs or will not without a new start, or after `RunningWait`. */
      readonly wait?: "running" | undefined
    }) => Effect.Effect<
      { readonly sandbox: Sandbox; readonly replayStatus: 201 | 202 },
      Unreachable | Limit | AccountSuspended | IdempotencyConflict | InvalidRequest | SnapshotNotReady | ImageNotReady
    >
    /** One Sandbox of a fork: of a snapshot that may still be being made. Its key is derived from the snapshot and meets no client's. */
    readonly createFork: (options: {
      readonly accountId: string
      readonly requestId: string
      readonly idempotencyKey: string
      readonly fingerprint: string
      readonly request: CreateSandboxRequest
    }) => Effect.Effect<
      Sandbox,
      Unreachable | Limit | AccountSuspended | IdempotencyConflict | InvalidRequest | SnapshotNotReady | ImageNotReady
    >
    /** The Sandbox in which an image is built: one for the image, made before that. */
    readonly createBuilder: (options: {
      readonly accountId: string
      readonly requestId: string
      readonly imageId: string
      readonly request: CreateSandboxRequest
    }) => Effect.Effect<
      Sandbox,
      Unreachable | Limit | AccountSuspended | IdempotencyConflict | InvalidRequest | SnapshotNotReady
    >
    readonly list: (accountId: string, filter: SandboxFilter) => Effect.Effect<SandboxList, InvalidRequest>
    readonly get: (accountId: string, sandboxId: string) => Effect.Effect<Sandbox, Unreachable>
    /** All of the changes or none. */
    readonly update: (
      accountId: string,
      sandboxId: string,
      options: {
        readonly requestId: string
        readonly request: UpdateSandboxRequest
        /** Whether the caller may delete Sandboxes, and so set when they are deleted. */
        readonly mayDelete: boolean
      }
    ) => Effect.Effect<
      Sandbox,
      Unreachable | InvalidRequest | ScopeRequired | SandboxLimitReached | StorageLimitReached | MemoryInUse
    >
    readonly start: (
      accountId: string,
      sandboxId: string,
      options: {
        readonly requestId: string
        readonly idempotencyKey: string | null
        /** When the account's credit ends (epoch milliseconds); null: no end is planned. */
        readonly exhaustedAt: number | null
        /** Waits as long as `RunningWait` says. */
        readonly wait?: "running" | undefined
      }
    ) => Effect.Effect<Sandbox, Unreachable | Limit>
    readonly stop: (
      accountId: string,
      sandboxId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<Sandbox, Unreachable>
    readonly remove: (
      accountId: string,
      sandboxId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<void, Unreachable>
    readonly transitions: (
      accountId: string,
      sandboxId: string,
      page: Page
    ) => Effect.Effect<TransitionList, Unreachable | InvalidRequest>
    /** The logs of all present and former resources in it. */
    readonly history: (
      accountId: string,
      sandboxId: string,
      page: Page
    ) => Effect.Effect<SandboxHistory, Unreachable | InvalidRequest>
  }
>()("atoll/sandbox/Sandboxes") {}
