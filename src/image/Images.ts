/**
 * The service for the images of an account. The HTTP handlers call it; it knows no HTTP.
 *
 * Every call names the calling account: an image of another account is NOT_FOUND. All accounts see the images of the operator. A malformed cursor is INVALID_REQUEST with the path `["cursor"]`.
 * `requestId` goes into the transition log.
 */
import { Context, type Effect } from "effect"
import type {
  AccountSuspended,
  ArchiveIncomplete,
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  SandboxLimitReached,
  SandboxUnavailable,
  ServiceUnavailable,
  StorageFull,
  StorageLimitReached,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import type { ImageList, PullImageRequest } from "../../schemas/Image.ts"
import type { ImageInUse, ImageLimitReached, ImageOfOperator, ImageUploadsReached } from "../../schemas/ImageErrors.ts"
import type { Image, ImageStatus } from "../../schemas/ImageRecord.ts"
import type { SnapshotNotReady } from "../../schemas/SnapshotErrors.ts"
import type { TransitionList } from "../../schemas/Transition.ts"
import type { ArchiveEncoding } from "../runtime/Guest.ts"
import type { Page } from "../sandbox/Sandboxes.ts"

export interface ImageFilter extends Page {
  readonly name: string | null
  /** Any of them. */
  readonly status: ReadonlyArray<ImageStatus> | null
}

export interface AskedImage {
  readonly accountId: string
  readonly requestId: string
  /** Null: the request is not repeatable. */
  readonly idempotencyKey: string | null
  /** The SHA-256 of method, path and canonical JSON body. */
  readonly fingerprint: string
  readonly request: PullImageRequest
}

export interface AskedUpload {
  readonly accountId: string
  readonly requestId: string
  /** Null: the request is not repeatable. */
  readonly idempotencyKey: string | null
  readonly name: string | null
  /** An OCI image layout as tar. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface AskedBuild extends Omit<AskedUpload, "body"> {
  /** A tar archive. */
  readonly body: AsyncIterable<Uint8Array>
  readonly encoding: ArchiveEncoding
  /** A path in the archive. */
  readonly dockerfile: string
  readonly target: string | null
  readonly args: Readonly<Record<string, string>>
  readonly workspaceId: string | null
}

export interface BuildPlace {
  readonly sandboxId: string
  readonly operationId: string | null
  /** It will have no more output than it has. */
  readonly isOver: boolean
}

export type BuildRefused =
  | InvalidRequest
  | PayloadTooLarge
  | AccountSuspended
  | CreditExhausted
  | IdempotencyConflict
  | ImageLimitReached
  | ImageUploadsReached
  | SandboxLimitReached
  | StorageLimitReached
  | ArchiveIncomplete
  | StorageFull
  | NotFound
  | SnapshotNotReady
  | UnsupportedByRuntime
  | SandboxUnavailable
  | ServiceUnavailable

export class Images extends Context.Service<
  Images,
  {
    /** Answers with the accepted image; a host pulls it afterwards, or a Sandbox builds it. */
    readonly pull: (
      asked: AskedImage
    ) => Effect.Effect<
      Image,
      | InvalidRequest
      | AccountSuspended
      | CreditExhausted
      | IdempotencyConflict
      | ImageLimitReached
      | StorageLimitReached
      | NotFound
      | SnapshotNotReady
      | SandboxLimitReached
      | UnsupportedByRuntime
      | SandboxUnavailable
    >
    /** Answers when the whole context is in the build's Sandbox; the build runs afterwards. */
    readonly build: (asked: AskedBuild) => Effect.Effect<Image, BuildRefused>
    /** The Sandbox and the operation of its build. NotFound: it is not built. Waits a while for the build to begin. `operationId` null: it has not. */
    readonly buildOf: (
      accountId: string,
      imageId: string,
      options: { readonly waits: boolean }
    ) => Effect.Effect<BuildPlace, NotFound>
    /** Answers when the whole body is stored; a host makes the image of it afterwards. */
    readonly upload: (
      asked: AskedUpload
    ) => Effect.Effect<
      Image,
      | InvalidRequest
      | PayloadTooLarge
      | AccountSuspended
      | CreditExhausted
      | IdempotencyConflict
      | ImageLimitReached
      | ImageUploadsReached
      | StorageLimitReached
      | UnsupportedByRuntime
      | SandboxUnavailable
      | ServiceUnavailable
    >
    readonly list: (accountId: string, filter: ImageFilter) => Effect.Effect<ImageList, InvalidRequest>
    readonly get: (accountId: string, imageId: string) => Effect.Effect<Image, NotFound>
    /** Answers when it is gone, or after 10 s. */
    readonly remove: (
      accountId: string,
      imageId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<void, NotFound | ImageInUse | ImageOfOperator | SandboxUnavailable>
    readonly transitions: (
      accountId: string,
      imageId: string,
      page: Page
    ) => Effect.Effect<TransitionList, NotFound | InvalidRequest>
  }
>()("atoll/image/Images") {}
