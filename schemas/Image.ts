/** Images of an account: root file systems for its Sandboxes, pulled from registries or uploaded. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, MayBeLarge, RequiredScope } from "./Access.ts"
import {
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  SandboxUnavailable,
  StorageLimitReached,
  UnsupportedMediaType
} from "./Errors.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { ImageId } from "./Identifiers.ts"
import { buildFields, buildImage, buildRefusals, readBuildOutput, streamBuildOutput } from "./ImageBuild.ts"
import { ImageInUse, ImageLimitReached, ImageOfOperator } from "./ImageErrors.ts"
import { Image, ImageResponse, ImageStatus } from "./ImageRecord.ts"
import { ImageReference } from "./ImageReference.ts"
import { uploadImage } from "./ImageUpload.ts"
import { registryPasswordMaxCharacters, registryUsernameMaxCharacters } from "./Limits.ts"
import { orNull } from "./Optional.ts"
import { NextCursor, page, several } from "./Query.ts"
import { SandboxName } from "./Sandbox.ts"
import { isCharactersBetween, isPlainText } from "./Text.ts"
import { TransitionList } from "./Transition.ts"

/** The path names the field that is missing or too many. */
const isPullOrBuild = Schema.makeFilter<{
  readonly reference: string | null
  readonly dockerfile: string | null
  readonly registry: string | null
  readonly username: string | null
  readonly password: string | null
  readonly contextSnapshotId: string | null
  readonly workspaceId: string | null
  readonly target: string | null
  readonly buildArgs: Readonly<Record<string, string>> | null
  readonly profile: unknown
}>(
  (given) => {
    const { reference, dockerfile, registry, username, password } = given
    if ((username === null) !== (password === null)) {
      return { path: [username === null ? "username" : "password"], issue: "Send username and password, or neither." }
    }
    if (reference === null && dockerfile === null) {
      return { path: ["reference"], issue: "Send reference for an image to pull, or dockerfile for one to build." }
    }
    if (reference !== null && dockerfile !== null) {
      return { path: ["dockerfile"], issue: "Send reference or dockerfile: an image is pulled or built." }
    }
    if (dockerfile !== null) {
      return (
        (registry === null) === (username === null) || {
          path: ["registry"],
          issue: "Send registry with username and password of it, or none of them."
        }
      )
    }
    const field = (["registry", "contextSnapshotId", "workspaceId", "target", "buildArgs", "profile"] as const).find(
      (name) => given[name] !== null
    )
    return field === undefined || { path: [field], issue: "Only for an image to build: send it with dockerfile." }
  },
  { expected: "an image to pull or to build", toJsonSchema: () => ({}) }
)

export const PullImageRequest = Schema.Struct({
  name: orNull(SandboxName, "For people; names need not be unique. Absent or null: none."),
  reference: orNull(ImageReference, "Of an image to pull. Either this or `dockerfile`."),
  username: orNull(
    Schema.String.check(isCharactersBetween(1, registryUsernameMaxCharacters), isPlainText),
    "For the registry, together with `password`. Absent or null: it is asked without."
  ),
  password: orNull(
    Schema.String.check(isCharactersBetween(1, registryPasswordMaxCharacters), isPlainText),
    "Or an access token. It is stored sealed, never answered, and sent to that registry only. It is forgotten with the image."
  ),
  ...buildFields
})
  .check(isPullOrBuild)
  .annotate({ identifier: "PullImageRequest", description: "An image to pull, or to build of a Dockerfile." })
export interface PullImageRequest extends Schema.Schema.Type<typeof PullImageRequest> {}

export const ImageList = Schema.Struct({
  images: Schema.Array(Image).annotate({ description: "One page." }),
  nextCursor: NextCursor
}).annotate({
  identifier: "ImageList",
  description:
    "Newest first, those of the operator and deleted ones included; but deleted ones of the operator are not."
})
export interface ImageList extends Schema.Schema.Type<typeof ImageList> {}

const listQuery = {
  name: Schema.optionalKey(
    Schema.String.check(isPlainText).annotate({ description: "Only those with exactly this name." })
  ),
  status: Schema.optionalKey(
    several(ImageStatus, "Only those in one of these: the parameter repeated, or commas between them.")
  ),
  ...page
}

const params = { id: ImageId }

export class ImagesGroup extends HttpApiGroup.make("images")
  .add(
    HttpApiEndpoint.post("pullImage", "/images", {
      headers: IdempotencyKey.ofImage,
      payload: PullImageRequest,
      success: ImageResponse.pipe(HttpApiSchema.status(202)),
      error: [
        InvalidRequest,
        PayloadTooLarge,
        UnsupportedMediaType,
        CreditExhausted,
        IdempotencyConflict,
        ImageLimitReached,
        StorageLimitReached,
        ...buildRefusals
      ]
    })
      .annotate(RequiredScope, "sandbox:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "pullImage",
          summary: "Pull an image from a registry, or build one of a Dockerfile",
          description:
            "Answers immediately: `pulling` until a host has the whole image, then `ready`, or `failed` with the reason. What the reference names is looked up once: a Sandbox gets the manifest of `digest`, even where the tag has moved on. An account has so many images at a time (429 IMAGE_LIMIT_REACHED). What its images occupy costs as its snapshots do, each account for itself where two have the same one; together they are limited as the storage of one workspace is (429 STORAGE_LIMIT_REACHED). A repeated Idempotency-Key gives the same image.\n\nWith `dockerfile` it is built: `building` while a Sandbox of the account, made by the service for that (`build.sandboxId`), runs the build; then as an archive that was uploaded. That Sandbox counts and costs as any other, and is deleted when the build is over. A build that fails ends in `failed` with IMAGE_BUILD_FAILED; its output is at `GET /images/{id}/build/output`. 404 for a snapshot or a workspace that is not the account's, 409 for a snapshot that is not ready, 501 with a sentence where no host can build."
        })
      ),
    uploadImage,
    buildImage,
    HttpApiEndpoint.get("listImages", "/images", {
      query: listQuery,
      success: ImageList,
      error: [InvalidRequest, RateLimited]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listImages",
          summary: "List images",
          description:
            "Those of the account, and those that the operator gives to all accounts (`operator`). Filters are optional and all must match."
        })
      ),
    HttpApiEndpoint.get("getImage", "/images/:id", { params, success: ImageResponse, error: NotFound })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getImage",
          summary: "Get an image",
          description: "Deleted ones stay readable for the retention time."
        })
      ),
    HttpApiEndpoint.delete("deleteImage", "/images/:id", {
      params,
      error: [NotFound, ImageInUse, ImageOfOperator, SandboxUnavailable]
    })
      .annotate(RequiredScope, "sandbox:delete")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteImage",
          summary: "Delete an image",
          description:
            "409 IMAGE_IN_USE while a Sandbox or a snapshot that is not deleted has it; 403 IMAGE_OF_OPERATOR for an image of the operator. Durable immediately, and never undone; a pull or a build that still runs is given up. Answers when it is deleted, or after 10 s while the deletion goes on. Repeated: 204."
        })
      ),
    readBuildOutput,
    streamBuildOutput,
    HttpApiEndpoint.get("listImageTransitions", "/images/:id/transitions", {
      params,
      query: page,
      success: TransitionList,
      error: [InvalidRequest, RateLimited, NotFound]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listImageTransitions",
          summary: "The transition log of an image",
          description: "Every step of its state machine, from its creation on. It is kept as long as the image."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({
      title: "Images",
      description: "Root file systems for Sandboxes, pulled from registries, uploaded, or built of Dockerfiles."
    })
  ) {}
