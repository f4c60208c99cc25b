/**
 * The service for the snapshots of an account, and for the forks that are made of them. The HTTP handlers call it; it knows no HTTP.
 *
 * Every call names the calling account: a snapshot or Sandbox of another account is NOT_FOUND. A malformed cursor is INVALID_REQUEST with the
 * path `["cursor"]`. `requestId` goes into the transition log.
 */
import type { Readable } from "node:stream"
import { Context, type Effect } from "effect"
import type {
  AccountSuspended,
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  RateLimited,
  SandboxUnavailable,
  ScopeRequired,
  ServiceUnavailable,
  StorageLimitReached,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import type { ForkRequest, ForkResponse, SandboxLineage } from "../../schemas/Fork.ts"
import type { RollbackRequest, RollbackResponse } from "../../schemas/Rollback.ts"
import type { CreateSnapshotRequest, SnapshotList, UpdateSnapshotRequest } from "../../schemas/Snapshot.ts"
import type {
  MemoryNotSupported,
  NoSnapshotAtRevision,
  SandboxCannotRollBack,
  SandboxNotCapturable,
  SnapshotDoesNotFit,
  SnapshotLimitReached,
  SnapshotNotReady
} from "../../schemas/SnapshotErrors.ts"
import type { Snapshot, SnapshotStatus } from "../../schemas/SnapshotRecord.ts"
import type { TransitionList } from "../../schemas/Transition.ts"
import type { Page } from "../sandbox/Sandboxes.ts"

export interface SnapshotFilter extends Page {
  readonly sandboxId: string | null
  /** Any of them. */
  readonly status: ReadonlyArray<SnapshotStatus> | null
}

/** Why no snapshot can be taken. */
export type NotTaken =
  | NotFound
  | InvalidRequest
  | AccountSuspended
  | CreditExhausted
  | IdempotencyConflict
  | SandboxNotCapturable
  | MemoryNotSupported
  | SnapshotLimitReached
  | StorageLimitReached

interface Keyed {
  readonly requestId: string
  /** The SHA-256 of method, path and canonical JSON body. */
  readonly fingerprint: string
}

/** A snapshot that is made of a file. */
export interface AskedImport {
  readonly accountId: string
  readonly requestId: string
  /** Null: the request is not repeatable. */
  readonly idempotencyKey: string | null
  readonly workspaceId: string
  /** Null: as the file has it. */
  readonly name: string | null
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
  /** The file. It is not destroyed where the import is refused. */
  readonly body: Readable
}

export class Snapshots extends Context.Service<
  Snapshots,
  {
    /** Answers with the accepted snapshot; its host makes the image afterwards. */
    readonly create: (
      accountId: string,
      sandboxId: string,
      options: Keyed & {
        /** Null: the request is not repeatable. */
        readonly idempotencyKey: string | null
        readonly request: CreateSnapshotRequest
      }
    ) => Effect.Effect<Snapshot, NotTaken>
    readonly list: (accountId: string, filter: SnapshotFilter) => Effect.Effect<SnapshotList, InvalidRequest>
    readonly get: (accountId: string, snapshotId: string) => Effect.Effect<Snapshot, NotFound>
    readonly update: (
      accountId: string,
      snapshotId: string,
      options: {
        readonly requestId: string
        readonly request: UpdateSnapshotRequest
        /** Whether the caller may delete, and so set when a snapshot is deleted. */
        readonly mayDelete: boolean
      }
    ) => Effect.Effect<Snapshot, NotFound | InvalidRequest | ScopeRequired | SnapshotNotReady | SandboxUnavailable>
    /** Answers when the image is gone, or after 10 s. */
    readonly remove: (
      accountId: string,
      snapshotId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<void, NotFound | SandboxUnavailable>
    readonly transitions: (
      accountId: string,
      snapshotId: string,
      page: Page
    ) => Effect.Effect<TransitionList, NotFound | InvalidRequest>
    /** The file of a ready snapshot, without its first `offset` bytes. Answers with the same tag have parts of the same file. */
    readonly export: (
      accountId: string,
      snapshotId: string,
      offset: number
    ) => Effect.Effect<
      { readonly tag: string; readonly bytes: Readable },
      NotFound | RateLimited | SnapshotNotReady | ServiceUnavailable | UnsupportedByRuntime
    >
    /** Answers when the host has the whole content; it checks the file system afterwards. */
    readonly import: (
      asked: AskedImport
    ) => Effect.Effect<
      Snapshot,
      | Exclude<NotTaken, SandboxNotCapturable | MemoryNotSupported>
      | RateLimited
      | ServiceUnavailable
      | UnsupportedByRuntime
    >
    readonly fork: (
      accountId: string,
      sandboxId: string,
      options: Keyed & { readonly idempotencyKey: string; readonly request: ForkRequest }
    ) => Effect.Effect<ForkResponse, NotTaken | NoSnapshotAtRevision>
    /** Answers once it is certain that the Sandbox is rolled back, or told why not. */
    readonly rollback: (
      accountId: string,
      sandboxId: string,
      options: Keyed & {
        /** Null: the request is not repeatable. */
        readonly idempotencyKey: string | null
        /** When the account's credit ends (epoch milliseconds); null: no end is planned. */
        readonly exhaustedAt: number | null
        /** Whether the caller may delete, and so give up the present volume. */
        readonly mayDelete: boolean
        readonly request: RollbackRequest
      }
    ) => Effect.Effect<
      RollbackResponse,
      | Exclude<NotTaken, InvalidRequest | MemoryNotSupported | SandboxNotCapturable>
      | SandboxCannotRollBack
      | SandboxUnavailable
      | ScopeRequired
      | SnapshotDoesNotFit
      | SnapshotNotReady
    >
    readonly lineage: (
      accountId: string,
      sandboxId: string,
      page: Page
    ) => Effect.Effect<SandboxLineage, NotFound | InvalidRequest>
  }
>()("atoll/snapshot/Snapshots") {}
