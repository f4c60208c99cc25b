/**
 * The service for the images of an account. The HTTP handlers call it; it knows no HTTP.
 *
 * Every call names the calling account: an image of another account is NOT_FOUND. All accounts see the images of the operator. A malformed cursor is INVALID_REQUEST with the path `["cursor"]`.
 * `requestId` goes into the transition log.
 */
import { Context, type Effect } from "effect"
import type {
  AccountSuspended,
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  SandboxUnavailable,
  ServiceUnavailable,
  StorageLimitReached,
  UnsupportedByRuntime
} from "../../schemas/Errors.ts"
import type { ImageList, PullImageRequest } from "../../schemas/Image.ts"
import type { ImageInUse, ImageLimitReached, ImageOfOperator, ImageUploadsReached } from "../../schemas/ImageErrors.ts"
import type { Image, ImageStatus } from "../../schemas/ImageRecord.ts"
import type { TransitionList } from "../../schemas/Transition.ts"
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

export class Images extends Context.Service<
  Images,
  {
    /** Answers with the accepted image; a host pulls it afterwards. */
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
    >
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
