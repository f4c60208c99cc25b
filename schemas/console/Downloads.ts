/** A whole file of any size, as a browser saves it: the answer goes to the disk as it comes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CookieAlone, ReadsContent, SignedIn } from "../Access.ts"
import {
  InvalidPath,
  InvalidRequest,
  IsADirectory,
  NotADirectory,
  NotFound,
  RateLimited,
  RuntimeUnavailable,
  SandboxUnavailable
} from "../Errors.ts"
import { FilePath } from "../Files.ts"
import { SandboxId } from "../Identifiers.ts"
import { isCharactersBetween, isPlainText } from "../Text.ts"

export class DownloadsGroup extends HttpApiGroup.make("downloads")
  .add(
    HttpApiEndpoint.get("downloadFile", "/sandboxes/:id/download", {
      params: { id: SandboxId },
      query: {
        path: FilePath,
        ticket: Schema.String.check(isCharactersBetween(1, 64), isPlainText).annotate({
          description: "Of this session, by POST tickets. Used up by this, and worth nothing without the cookie."
        })
      },
      success: HttpApiSchema.StreamUint8Array(),
      error: [
        InvalidRequest,
        InvalidPath,
        NotFound,
        NotADirectory,
        IsADirectory,
        RateLimited,
        SandboxUnavailable,
        RuntimeUnavailable
      ]
    })
      // A browser that follows a link sends no header: the ticket stands for it.
      .annotate(CookieAlone, true)
      .annotate(ReadsContent, true)
      .annotateMerge(OpenApi.annotations({ identifier: "downloadFile", summary: "A whole file, to be saved" }))
  )
  .middleware(SignedIn) {}
