import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Workspaces } from "../../account/workspace/Workspaces.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { leanGroup } from "./LeanContext.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

export const WorkspacesHandlers = {
  layer: leanGroup(
    Api,
    "workspaces",
    Effect.fnUntraced(function* (handlers) {
      const workspaces = yield* Workspaces
      return handlers
        .handle("listWorkspaces", () =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(workspaces.list(accountId), (list) => ({ workspaces: list }))
          )
        )
        .handle(
          "createWorkspace",
          Effect.fnUntraced(function* ({ headers, payload, request }) {
            const { accountId } = yield* Caller
            const workspace = yield* workspaces.create({
              accountId,
              idempotencyKey: headers["idempotency-key"],
              fingerprint: yield* fingerprintOf(request),
              request: payload
            })
            noteTarget(request, workspace.id)
            return { workspace }
          }),
          { uninterruptible: true }
        )
        .handle("getWorkspace", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(workspaces.get(accountId, params.id), (workspace) => ({ workspace }))
          )
        )
        .handle(
          "renameWorkspace",
          ({ params, payload }) =>
            Effect.flatMap(Caller, ({ accountId }) =>
              Effect.map(workspaces.rename(accountId, params.id, payload), (workspace) => ({ workspace }))
            ),
          { uninterruptible: true }
        )
        .handle(
          "deleteWorkspace",
          ({ params }) => Effect.flatMap(Caller, ({ accountId }) => workspaces.remove(accountId, params.id)),
          { uninterruptible: true }
        )
    })
  )
}
