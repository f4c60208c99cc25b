/**
 * The Sandboxes of an account: what the HTTP handlers ask for, and nothing of HTTP.
 *
 * Every call names the account that asks: a Sandbox of another account is NOT_FOUND. A malformed cursor is INVALID_REQUEST with the
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
import type {
  CreateSandboxRequest,
  Sandbox,
  SandboxList,
  SandboxStatus,
  UpdateSandboxRequest
} from "../../schemas/Sandbox.ts"
import type { SandboxHistory, TransitionList } from "../../schemas/Transition.ts"

type Unreachable = NotFound | UnsupportedByRuntime | SandboxUnavailable
type Limit = CreditExhausted | SandboxLimitReached | StorageLimitReached

/** `limit` null: all of them, unless a cursor is given (then 100). */
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
      readonly idempotencyKey: string
      readonly fingerprint: string
      readonly request: CreateSandboxRequest
      /** Answers, as a replay does, once it runs or will not by itself, or when `RunningWait` is over. */
      readonly wait?: "running" | undefined
    }) => Effect.Effect<
      { readonly sandbox: Sandbox; readonly replayStatus: 201 | 202 },
      Unreachable | Limit | AccountSuspended | IdempotencyConflict | InvalidRequest
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
        /** Whether the caller may delete Sandboxes, and so say when they are. */
        readonly mayDelete: boolean
      }
    ) => Effect.Effect<Sandbox, Unreachable | InvalidRequest | ScopeRequired>
    readonly start: (
      accountId: string,
      sandboxId: string,
      options: {
        readonly requestId: string
        readonly idempotencyKey: string | null
        /** From then on (epoch milliseconds) the account has no credit; null: no end of it is in sight. */
        readonly exhaustedAt: number | null
        /** Waits for as long as `RunningWait` says. */
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
    /** Of all that lives and lived in it. */
    readonly history: (
      accountId: string,
      sandboxId: string,
      page: Page
    ) => Effect.Effect<SandboxHistory, Unreachable | InvalidRequest>
  }
>()("atoll/sandbox/Sandboxes") {}
