/**
 * The service for the images of an account. The HTTP handlers call it; it knows no HTTP.
 *
 * Every call names the calling account: an image of another account is NOT_FOUND. A malformed cursor is INVALID_REQUEST with the path `["cursor"]`.
 * `requestId` goes into the transition log.
 */
import { Context, type Effect } from "effect"
import type {
  AccountSuspended,
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  SandboxUnavailable,
  StorageLimitReached
} from "../../schemas/Errors.ts"
import type { ImageList, PullImageRequest } from "../../schemas/Image.ts"
import type { ImageInUse, ImageLimitReached } from "../../schemas/ImageErrors.ts"
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
    readonly list: (accountId: string, filter: ImageFilter) => Effect.Effect<ImageList, InvalidRequest>
    readonly get: (accountId: string, imageId: string) => Effect.Effect<Image, NotFound>
    /** Answers when it is gone, or after 10 s. */
    readonly remove: (
      accountId: string,
      imageId: string,
      options: { readonly requestId: string }
    ) => Effect.Effect<void, NotFound | ImageInUse | SandboxUnavailable>
    readonly transitions: (
      accountId: string,
      imageId: string,
      page: Page
    ) => Effect.Effect<TransitionList, NotFound | InvalidRequest>
  }
>()("atoll/image/Images") {}
