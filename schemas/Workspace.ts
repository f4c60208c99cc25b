/** A workspace: a persistent container of Sandboxes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import {
  IdempotencyConflict,
  InvalidRequest,
  PayloadTooLarge,
  UnsupportedMediaType,
  WorkspaceQuotaExceeded
} from "./Errors.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { WorkspaceId } from "./Identifiers.ts"
import { nameMaxCharacters, workspacesPerAccount } from "./Limits.ts"
import { isCharactersBetween, isPlainText, Timestamp } from "./Text.ts"

export const Workspace = Schema.Struct({
  id: WorkspaceId,
  name: Schema.String,
  createdAt: Timestamp,
  sandboxCount: Schema.Int.annotate({
    description: "Sandboxes that count toward the limits: all but deleted and expired ones."
  }),
  storageBytes: Schema.Int.annotate({ description: "The sizes of their volumes, together." }),
  storageLimitBytes: Schema.Int
}).annotate({ identifier: "Workspace" })
export interface Workspace extends Schema.Schema.Type<typeof Workspace> {}

export const CreateWorkspaceRequest = Schema.Struct({
  name: Schema.String.check(isCharactersBetween(1, nameMaxCharacters), isPlainText)
}).annotate({ identifier: "CreateWorkspaceRequest" })
export interface CreateWorkspaceRequest extends Schema.Schema.Type<typeof CreateWorkspaceRequest> {}

export class WorkspacesGroup extends HttpApiGroup.make("workspaces")
  .add(
    HttpApiEndpoint.get("listWorkspaces", "/workspaces", {
      success: Schema.Struct({ workspaces: Schema.Array(Workspace) }).annotate({ description: "Newest first." })
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(OpenApi.annotations({ identifier: "listWorkspaces", summary: "List workspaces" })),
    HttpApiEndpoint.post("createWorkspace", "/workspaces", {
      headers: IdempotencyKey.required,
      payload: CreateWorkspaceRequest,
      success: Schema.Struct({ workspace: Workspace }).pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, IdempotencyConflict, WorkspaceQuotaExceeded, PayloadTooLarge, UnsupportedMediaType]
    })
      .annotate(RequiredScope, "workspace:create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createWorkspace",
          summary: "Create an empty workspace",
          description: `At most ${workspacesPerAccount} workspaces per account, or its own limit (GET /me). Names need not be unique. A repeated Idempotency-Key replays the original answer.`
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Workspaces", description: "Persistent containers of Sandboxes." })) {}
