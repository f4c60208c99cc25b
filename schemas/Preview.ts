/** A preview: one port of a running Sandbox under a separate host name, for an hour. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, ReadOnly, ReadsContent, RequiredScope } from "./Access.ts"
import {
  CleanupPending,
  InvalidRequest,
  NetworkDisabled,
  NotFound,
  PayloadTooLarge,
  PreviewExists,
  PreviewTransportUnavailable,
  UnsupportedMediaType
} from "./Errors.ts"
import { PreviewId, SandboxId } from "./Identifiers.ts"
import { previewsListed, previewsPerSandbox } from "./Limits.ts"
import { withDefault } from "./Optional.ts"
import { Timestamp } from "./Text.ts"

/** A TCP port. */
export const Port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))

export const CreatePreviewRequest = Schema.Struct({
  port: Port.annotate({ description: "The port inside the Sandbox; nothing needs to listen there yet." }),
  alongside: withDefault(
    Schema.Boolean,
    false,
    `true: opens it beside previews of other ports, at most ${previewsPerSandbox} in a Sandbox. false: 409 while any preview is open.`
  )
}).annotate({ identifier: "CreatePreviewRequest", description: "Which port to open." })
export interface CreatePreviewRequest extends Schema.Schema.Type<typeof CreatePreviewRequest> {}

export const Preview = Schema.Struct({
  id: PreviewId,
  sandboxId: SandboxId,
  port: Schema.Int.annotate({ description: "The port inside the Sandbox." }),
  url: Schema.String.annotate({ description: "The address to open in a browser. Everyone who knows it can use it." }),
  hostname: Schema.String.annotate({ description: "The URL's host name." }),
  status: Schema.Literals(["active", "closed", "expired"]).annotate({
    description: "active: it is served. closed: by a client, or with its Sandbox. expired: its hour is over."
  }),
  createdAt: Timestamp.annotate({ description: "When it was asked for." }),
  expiresAt: Timestamp.annotate({ description: "When it ends by itself." })
}).annotate({
  identifier: "Preview",
  description: "A port of a Sandbox under a separate host name."
})
export interface Preview extends Schema.Schema.Type<typeof Preview> {}

const PreviewResponse = Schema.Struct({ preview: Preview }).annotate({
  identifier: "PreviewResponse",
  description: "An open preview, with its secret."
})

export const LookUpPreviewRequest = Schema.Struct({
  port: Port.annotate({ description: "The port inside the Sandbox." })
}).annotate({ identifier: "LookUpPreviewRequest", description: "Which preview: a port has at most one that is open." })

/** Without id and URL: each of them is enough to use the preview. */
export const ListedPreview = Schema.Struct({
  port: Schema.Int.annotate({ description: "The port inside the Sandbox." }),
  status: Schema.Literals(["opening", "active", "closed", "expired"]).annotate({
    description: "opening: it is not served yet. closed: by a client, or with its Sandbox."
  }),
  createdAt: Timestamp.annotate({ description: "When it was asked for." }),
  expiresAt: Timestamp.annotate({ description: "When it ends by itself; of one that ended earlier, that instant." }),
  endedAt: Schema.NullOr(Timestamp).annotate({ description: "When its host name stopped working; null: it is open." })
}).annotate({ identifier: "ListedPreview", description: "A preview without its id and URL, which are its secret." })
export interface ListedPreview extends Schema.Schema.Type<typeof ListedPreview> {}

export const PreviewList = Schema.Struct({
  previews: Schema.Array(ListedPreview).annotate({
    description: `Newest first, at most ${previewsListed}. Ids and URLs are not in it: they are what lets one in.`
  })
}).annotate({ identifier: "PreviewList", description: "The previews of a Sandbox, without their secrets." })
export interface PreviewList extends Schema.Schema.Type<typeof PreviewList> {}

export class PreviewsGroup extends HttpApiGroup.make("previews")
  .add(
    HttpApiEndpoint.post("createPreview", "/sandboxes/:id/previews", {
      params: { id: SandboxId },
      payload: CreatePreviewRequest,
      success: PreviewResponse.pipe(HttpApiSchema.status(201)),
      error: [
        InvalidRequest,
        NetworkDisabled,
        PayloadTooLarge,
        UnsupportedMediaType,
        NotFound,
        PreviewExists,
        PreviewTransportUnavailable
      ]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createPreview",
          summary: "Open a preview of a port",
          description:
            "HTTP/1.1 and WebSockets. The host name is a bearer capability: everyone who knows it can use it. One preview a Sandbox, or several of different ports with `alongside`; each ends after an hour, when it is closed, and when the Sandbox stops. While nothing listens the answer is a page with status 502 that loads itself again. The program sees the visitor's Host; X-Forwarded-For is appended to, X-Forwarded-Host and X-Forwarded-Proto are set, and other X-Forwarded headers, Forwarded, X-Real-IP and an API key in Authorization are left out. A program that cannot resolve the host name connects to the API's own address and sends the name as Host (and as SNI). There is no path of the API's origin for it: a page there would share the origin's cookies with the console and with other previews."
        })
      ),
    HttpApiEndpoint.post("lookUpPreview", "/sandboxes/:id/previews/lookup", {
      params: { id: SandboxId },
      payload: LookUpPreviewRequest,
      success: PreviewResponse,
      error: [InvalidRequest, PayloadTooLarge, UnsupportedMediaType, NotFound]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(ReadsContent, true)
      .annotate(ReadOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "lookUpPreview",
          summary: "Get the address of an open preview again",
          description:
            "The same id and URL that createPreview answered, for every key of the account with this scope; nothing is renewed. 404: no preview of that port is open."
        })
      ),
    HttpApiEndpoint.get("listPreviews", "/sandboxes/:id/previews", {
      params: { id: SandboxId },
      success: PreviewList,
      error: [InvalidRequest, NotFound]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listPreviews",
          summary: "List previews",
          description: "What is open, and what was, for as long as it is retained."
        })
      ),
    HttpApiEndpoint.delete("closePreviews", "/sandboxes/:id/previews", {
      params: { id: SandboxId },
      error: [NotFound, CleanupPending]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "closePreviews",
          summary: "Close what is open",
          description: "For who does not have the id any more. Otherwise as closePreview. Nothing is open: 204."
        })
      ),
    HttpApiEndpoint.delete("closePreview", "/sandboxes/:id/previews/:previewId", {
      params: { id: SandboxId, previewId: PreviewId },
      error: [NotFound, CleanupPending]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "closePreview",
          summary: "Close a preview",
          description:
            "Its host name stops working immediately, and open connections are cut. 503 CLEANUP_PENDING: the Sandbox has not confirmed it yet. Repeated: 204."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Previews", description: "Ports of a Sandbox under host names." })) {}
