/** The errors of images and of what is made with them. */
import { Schema } from "effect"
import { withDetails } from "./ErrorShape.ts"

export class ImageNotReady extends Schema.TaggedError<ImageNotReady>()(
  "IMAGE_NOT_READY",
  withDetails("The image is not ready; details.status says what it is.", {
    status: Schema.String.annotate({ description: "The image's status." })
  }),
  { httpApiStatus: 409 }
) {}

export class ImageInUse extends Schema.TaggedError<ImageInUse>()(
  "IMAGE_IN_USE",
  withDetails("Sandboxes or snapshots still need the image. Delete them first.", {
    sandboxes: Schema.Int.annotate({ description: "Sandboxes that have it." }),
    snapshots: Schema.Int.annotate({ description: "Snapshots whose Sandboxes would have it." })
  }),
  { httpApiStatus: 409 }
) {}

export class ImageLimitReached extends Schema.TaggedError<ImageLimitReached>()(
  "IMAGE_LIMIT_REACHED",
  withDetails("The account has as many images as it may have, failed ones included. Delete one first.", {
    limit: Schema.Int.annotate({ description: "How many it may have." })
  }),
  { httpApiStatus: 429 }
) {}
