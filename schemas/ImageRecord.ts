/** An image as answers show it. */
import { Schema } from "effect"
import { ImageId, OperationId, SandboxId } from "./Identifiers.ts"
import { ImageReference } from "./ImageReference.ts"
import { oneOf } from "./OneOf.ts"
import { Reason } from "./Sandbox.ts"
import { Timestamp } from "./Text.ts"

export const imageStatuses = ["building", "pulling", "ready", "failed", "deleting", "deleted"] as const

export const ImageStatus = oneOf(
  "ImageStatus",
  imageStatuses,
  "What it is now. Sandboxes can be made with it while it is ready. building: it is built of its Dockerfile. pulling: a host pulls it, or unpacks the archive that was uploaded or built. failed: it could not be made, or is lost, and statusReason says why."
)
export type ImageStatus = typeof ImageStatus.Type

const untilReady = (description: string) =>
  Schema.NullOr(Schema.Int).annotate({ description: `${description} null until it is ready.` })

export const ImageBuild = Schema.Struct({
  sandboxId: SandboxId,
  operationId: Schema.NullOr(OperationId).annotate({
    description: "The build's operation in that Sandbox, which stays readable; null: it has not begun."
  }),
  dockerfile: Schema.NullOr(Schema.String).annotate({
    description: "The path of the Dockerfile in the context; null: its text was sent."
  }),
  target: Schema.NullOr(Schema.String).annotate({ description: "The stage that was asked for; null: the last one." })
}).annotate({
  identifier: "ImageBuild",
  description:
    "Where an image is built: sandboxId is the Sandbox that the service made for it, and deletes when the build is over."
})

export const Image = Schema.Struct({
  id: ImageId,
  name: Schema.NullOr(Schema.String).annotate({ description: "As it was given; null: none was." }),
  reference: Schema.NullOr(ImageReference).annotate({
    description: "Where it was pulled from, as it was asked for; null: it was uploaded as an archive, or built."
  }),
  build: Schema.NullOr(ImageBuild).annotate({
    description: "Of an image that is built of a Dockerfile; null: of another."
  }),
  operator: Schema.Boolean.annotate({
    description:
      "Whether the operator of the service gives it to all accounts. Such an image costs nothing, counts toward no limit of the account, and no account can delete it. One that the operator gives no longer is `deleting` while a Sandbox or a snapshot has it."
  }),
  digest: Schema.NullOr(Schema.String).annotate({
    description:
      "sha256:… of the manifest for the architecture of the hosts; null until it is ready. Sandboxes have this one for good: a tag that moves later changes nothing.",
    examples: ["sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"]
  }),
  status: ImageStatus,
  statusReason: Schema.NullOr(Reason).annotate({
    description:
      "Why it has that status; null where nothing is to be said. Of a failed one the code is IMAGE_NOT_FOUND, IMAGE_UNAUTHORIZED, IMAGE_TOO_LARGE, IMAGE_UNSUPPORTED, IMAGE_INVALID, IMAGE_NO_ROOM, IMAGE_ADDRESS_FORBIDDEN, IMAGE_BUILD_FAILED where the build failed, IMAGE_LOST where no host has it any more and no registry had it, or PULL_FAILED where the registry or the host did not answer for too long."
  }),
  sizeBytes: untilReady("Bytes of its files, unpacked."),
  storedBytes: untilReady("Bytes that it occupies on a host. They cost as those of snapshots do."),
  createdAt: Timestamp.annotate({ description: "When it was accepted." }),
  readyAt: Schema.NullOr(Timestamp).annotate({ description: "When a host had it; null: none ever had." }),
  deletedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was deleted; null: it is not." })
}).annotate({
  identifier: "Image",
  description: "A root file system for Sandboxes, pulled from a registry, uploaded, or built."
})
export interface Image extends Schema.Schema.Type<typeof Image> {}

export const ImageResponse = Schema.Struct({ image: Image }).annotate({
  identifier: "ImageResponse",
  description: "One image."
})
export interface ImageResponse extends Schema.Schema.Type<typeof ImageResponse> {}
