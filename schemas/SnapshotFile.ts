/** A snapshot as one file: what leaves a server, and what another one takes in. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { ReadsContent, RequiredScope } from "./Access.ts"
import {
  CreditExhausted,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  ServiceUnavailable,
  StorageLimitReached,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { SnapshotId } from "./Identifiers.ts"
import { offsetMax, snapshotTransfersPerAccount } from "./Limits.ts"
import { instant, integer } from "./Query.ts"
import { SandboxName } from "./Sandbox.ts"
import { SnapshotLimitReached, SnapshotNotReady } from "./SnapshotErrors.ts"
import { SnapshotResponse } from "./SnapshotRecord.ts"
import { isCharactersBetween, isPlainText } from "./Text.ts"

export const snapshotMediaType = "application/x-atoll-snapshot"

const snapshotFile = Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: snapshotMediaType }))

const exportHeaders = {
  etag: Schema.String.annotate({
    description: "The same for answers of which one continues the other. Another one: begin again."
  }),
  "x-service-offset": Schema.String.annotate({ description: "Offset of the first returned byte, in decimal digits." })
}

export const exportSnapshot = HttpApiEndpoint.get("exportSnapshot", "/snapshots/:id/content", {
  params: { id: SnapshotId },
  query: {
    offset: Schema.optionalKey(
      integer(
        { minimum: 0, maximum: offsetMax },
        { default: 0, description: "How many bytes of the file are left out at its beginning." }
      )
    )
  },
  success: HttpApiSchema.WithHeaders(HttpApiSchema.StreamUint8Array({ contentType: snapshotMediaType }), exportHeaders),
  error: [InvalidRequest, NotFound, SnapshotNotReady, RateLimited, UnsupportedByRuntime, ServiceUnavailable]
})
  .annotate(RequiredScope, "sandbox:read")
  .annotate(ReadsContent, true)
  .annotateMerge(
    OpenApi.annotations({
      identifier: "exportSnapshot",
      summary: "A snapshot as one file",
      description: [
        "What the snapshot is (sizes, runtime, name, metadata), then the content of its volume, compressed, and a SHA-256 of all that: `curl … -o snapshot.atoll`. importSnapshot makes a snapshot of it again, here or on another server. Variables are not in it; files of the volume are, with the secrets that they hold.",
        "",
        "The file is made as it is read, so its length is not known before its end. A connection that closes before the end of the (chunked) body means that the file is not whole. Continue it with `offset`, the number of bytes that you have, if `ETag` is the one of before; else begin again: the server was updated, or the snapshot was renamed. A client that reads nothing for a minute is disconnected.",
        "",
        `An account has at most ${snapshotTransfersPerAccount} exports and imports in progress: one more is 429 with Retry-After. 503 with Retry-After: the host of the snapshot does not answer now, or the service carries as many as it can.`
      ].join("\n")
    })
  )

export const importSnapshot = HttpApiEndpoint.post("importSnapshot", "/snapshots", {
  query: {
    workspaceId: Schema.String.check(isCharactersBetween(1, 64), isPlainText).annotate({
      description: "An own workspace; any other gives 404."
    }),
    name: Schema.optionalKey(
      SandboxName.annotate({ description: "For people. Absent: the name in the file, if any." })
    ),
    expiresAt: Schema.optionalKey(instant("When it is deleted by itself: an instant in the future. Absent: never."))
  },
  headers: IdempotencyKey.ofImport,
  payload: snapshotFile,
  success: SnapshotResponse.pipe(HttpApiSchema.status(202)),
  error: [
    InvalidRequest,
    PayloadTooLarge,
    UnsupportedMediaType,
    CreditExhausted,
    NotFound,
    IdempotencyConflict,
    SnapshotLimitReached,
    StorageLimitReached,
    RateLimited,
    UnsupportedByRuntime,
    ServiceUnavailable
  ]
})
  .annotate(RequiredScope, "sandbox:create")
  .annotateMerge(
    OpenApi.annotations({
      identifier: "importSnapshot",
      summary: "Make a snapshot of a file",
      description: [
        "Of a file that exportSnapshot gave, here or elsewhere: `curl -T snapshot.atoll -X POST -H 'Content-Type: application/x-atoll-snapshot' …`. It is read as it comes. Before anything is written, the size of its volume must be within the bounds in `GET /me`, and the workspace must be below its storage limit; its content must fit below that limit, too. vCPUs and memory beyond this server's bounds become the nearest ones within them. A Sandbox of the other runtime's snapshot cannot run here: 400.",
        "",
        "Answers when the whole file is here and its SHA-256 is right: the snapshot is `creating` until its host has checked the file system, then `ready`, or `failed` with SNAPSHOT_UNUSABLE. It has no Sandbox (`sandboxId` null, `imported` true) and no variables. What is no whole snapshot file is 400, and leaves nothing. In a fleet a host of its runtime with room takes it. 429 and 503 as for an export."
      ].join("\n")
    })
  )
