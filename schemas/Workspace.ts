/** A workspace: a persistent container of Sandboxes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import {
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  UnsupportedMediaType,
  WorkspaceNotEmpty,
  WorkspaceQuotaExceeded
} from "./Errors.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { WorkspaceId } from "./Identifiers.ts"
import { nameMaxCharacters, workspacesPerAccount } from "./Limits.ts"
import { isCharactersBetween, isPlainText, Timestamp } from "./Text.ts"

export const Workspace = Schema.Struct({
  id: WorkspaceId,
  name: Schema.String.annotate({ description: "For people; names need not be unique." }),
  createdAt: Timestamp.annotate({ description: "When it was made." }),
  sandboxCount: Schema.Int.annotate({
    description: "Sandboxes that count toward the limits: all but deleted and expired ones."
  }),
  storageBytes: Schema.Int.annotate({
    description: "The sizes of their volumes, and what the images of its snapshots occupy, together."
  }),
  storageLimitBytes: Schema.Int.annotate({ description: "What they may be together; beyond it a create is 429." })
}).annotate({
  identifier: "Workspace",
  description: "A persistent container of Sandboxes."
})
export interface Workspace extends Schema.Schema.Type<typeof Workspace> {}

export const CreateWorkspaceRequest = Schema.Struct({
  name: Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText).annotate({
    description: "For people; names need not be unique."
  })
}).annotate({ identifier: "CreateWorkspaceRequest", description: "A workspace to make." })
export interface CreateWorkspaceRequest extends Schema.Schema.Type<typeof CreateWorkspaceRequest> {}

export const RenameWorkspaceRequest = Schema.Struct(CreateWorkspaceRequest.fields).annotate({
  identifier: "RenameWorkspaceRequest",
  description: "Its new name."
})
export interface RenameWorkspaceRequest extends Schema.Schema.Type<typeof RenameWorkspaceRequest> {}

const params = { id: WorkspaceId }
const WorkspaceResponse = Schema.Struct({ workspace: Workspace }).annotate({
  identifier: "WorkspaceResponse",
  description: "One workspace."
})

export class WorkspacesGroup extends HttpApiGroup.make("workspaces")
  .add(
    HttpApiEndpoint.get("listWorkspaces", "/workspaces", {
      success: Schema.Struct({
        workspaces: Schema.Array(Workspace).annotate({ description: "All of the account." })
      }).annotate({ identifier: "WorkspaceList", description: "Newest first." })
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listWorkspaces",
          summary: "List workspaces",
          description: "All of the account, on one page."
        })
      ),
    HttpApiEndpoint.post("createWorkspace", "/workspaces", {
      headers: IdempotencyKey.required,
      payload: CreateWorkspaceRequest,
      success: WorkspaceResponse.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, IdempotencyConflict, WorkspaceQuotaExceeded, PayloadTooLarge, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "workspace:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createWorkspace",
          summary: "Create an empty workspace",
          description: `At most ${workspacesPerAccount} workspaces per account, or its own limit (GET /me). Names need not be unique. A repeated Idempotency-Key replays the original answer.`
        })
      ),
    HttpApiEndpoint.get("getWorkspace", "/workspaces/:id", { params, success: WorkspaceResponse, error: NotFound })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getWorkspace",
          summary: "Get a workspace",
          description: "Its name, and how much of its storage limit is taken."
        })
      ),
    HttpApiEndpoint.patch("renameWorkspace", "/workspaces/:id", {
      params,
      payload: RenameWorkspaceRequest,
      success: WorkspaceResponse,
      error: [InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "workspace:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "renameWorkspace",
          summary: "Give a workspace another name",
          description: "Names need not be unique. Repeated, it changes nothing more."
        })
      ),
    HttpApiEndpoint.delete("deleteWorkspace", "/workspaces/:id", { params, error: [NotFound, WorkspaceNotEmpty] })
      .annotate(RequiredScope, "sandbox:delete")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteWorkspace",
          summary: "Delete an empty workspace",
          description:
            "Only one without Sandboxes is deleted (deleted and expired ones do not count: see sandboxCount), else 409 WORKSPACE_NOT_EMPTY. What its Sandboxes cost stays readable."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Workspaces", description: "Persistent containers of Sandboxes." })) {}
