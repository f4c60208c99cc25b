/** The errors of images and of what is made with them. */
import { Schema } from "effect"
import { plain, withDetails } from "./ErrorShape.ts"

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

export class ImageUploadsReached extends Schema.TaggedError<ImageUploadsReached>()(
  "IMAGE_UPLOADS_REACHED",
  withDetails("The account uploads as many images as it may at a time. Wait until one of them has ended.", {
    limit: Schema.Int.annotate({ description: "How many it may upload at a time." })
  }),
  { httpApiStatus: 429 }
) {}

export class ImageLimitReached extends Schema.TaggedError<ImageLimitReached>()(
  "IMAGE_LIMIT_REACHED",
  withDetails("The account has as many images as it may have, failed ones included. Delete one first.", {
    limit: Schema.Int.annotate({ description: "How many it may have." })
  }),
  { httpApiStatus: 429 }
) {}

export class ImageOfOperator extends Schema.TaggedError<ImageOfOperator>()(
  "IMAGE_OF_OPERATOR",
  plain("The operator of this service gives this image to all accounts. No account can delete it."),
  { httpApiStatus: 403 }
) {}
