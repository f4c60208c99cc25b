/** An image as one file: what `docker save` and others write, and what becomes an image here. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredScope } from "./Access.ts"
import {
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  PayloadTooLarge,
  SandboxUnavailable,
  ServiceUnavailable,
  StorageLimitReached,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import { tarMediaType } from "./Files.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { ImageLimitReached, ImageUploadsReached } from "./ImageErrors.ts"
import { ImageResponse } from "./ImageRecord.ts"
import { SandboxName } from "./Sandbox.ts"

export const imageArchiveMediaType = "application/vnd.oci.image.layout.v1.tar"

const archiveOf = (contentType: string) => Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType }))

export const uploadImage = HttpApiEndpoint.post("uploadImage", "/images/upload", {
  query: {
    name: Schema.optionalKey(
      SandboxName.annotate({ description: "For people; names need not be unique. Absent: none." })
    )
  },
  headers: IdempotencyKey.ofUpload,
  payload: [archiveOf(imageArchiveMediaType), archiveOf(tarMediaType)],
  success: ImageResponse.pipe(HttpApiSchema.status(202)),
  error: [
    InvalidRequest,
    PayloadTooLarge,
    UnsupportedMediaType,
    CreditExhausted,
    IdempotencyConflict,
    ImageLimitReached,
    ImageUploadsReached,
    StorageLimitReached,
    UnsupportedByRuntime,
    SandboxUnavailable,
    ServiceUnavailable
  ]
})
  .annotate(RequiredScope, "sandbox:create")
  .annotateMerge(
    OpenApi.annotations({
      identifier: "uploadImage",
      summary: "Make an image of an archive",
      description: [
        "The body is an OCI image layout as one tar archive, without compression of the whole: what `docker save` (Docker 25 or later) and `skopeo copy … oci-archive:image.tar` write. `curl -T image.tar -X POST -H 'Content-Type: application/vnd.oci.image.layout.v1.tar' …`; application/x-tar is the same. It is stored as it comes; what breaks off leaves nothing. It has at most as many bytes as an image may have (413). An account sends at most four at a time (429 IMAGE_UPLOADS_REACHED).",
        "",
        "Answers when the whole archive is here: the image is `pulling` until its host has verified and unpacked it, then `ready`, or `failed` with the reason, by the rules of images from registries: each part must have the digest that its manifest names. Where the archive's index names several images, the one for the hosts' architecture is taken. `reference` is null. No registry has the image: should its host be lost, it is `failed` with the code IMAGE_LOST until that host is back or the archive is uploaded again."
      ].join("\n")
    })
  )
