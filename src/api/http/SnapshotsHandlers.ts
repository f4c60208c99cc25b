import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Snapshots } from "../../snapshot/Snapshots.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { leanGroup } from "./LeanContext.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

export const SnapshotsHandlers = {
  layer: leanGroup(
    Api,
    "snapshots",
    Effect.fnUntraced(function* (handlers) {
      const snapshots = yield* Snapshots
      return handlers
        .handle(
          "createSnapshot",
          Effect.fnUntraced(function* ({ params, headers, payload, request }) {
            const { accountId, requestId } = yield* Caller
            const snapshot = yield* snapshots.create(accountId, params.id, {
              requestId,
              idempotencyKey: headers["idempotency-key"] ?? null,
              fingerprint: yield* fingerprintOf(request),
              request: payload
            })
            noteTarget(request, snapshot.id)
            return { snapshot }
          }),
          { uninterruptible: true }
        )
        .handle("listSnapshots", ({ query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            snapshots.list(accountId, {
              sandboxId: query.sandboxId ?? null,
              status: query.status ?? null,
              limit: query.limit,
              cursor: query.cursor ?? null
            })
          )
        )
        .handle("getSnapshot", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(snapshots.get(accountId, params.id), (snapshot) => ({ snapshot }))
          )
        )
        .handle(
          "updateSnapshot",
          ({ params, payload }) =>
            Effect.flatMap(Caller, ({ accountId, requestId, scopes }) =>
              Effect.map(
                snapshots.update(accountId, params.id, {
                  requestId,
                  request: payload,
                  mayDelete: scopes.has("sandbox:delete")
                }),
                (snapshot) => ({ snapshot })
              )
            ),
          { uninterruptible: true }
        )
        .handle(
          "deleteSnapshot",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) => snapshots.remove(accountId, params.id, { requestId })),
          { uninterruptible: true }
        )
        .handle("listSnapshotTransitions", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            snapshots.transitions(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null })
          )
        )
        .handle(
          "forkSandbox",
          Effect.fnUntraced(function* ({ params, headers, payload, request }) {
            const { accountId, requestId } = yield* Caller
            return yield* snapshots.fork(accountId, params.id, {
              requestId,
              idempotencyKey: headers["idempotency-key"],
              fingerprint: yield* fingerprintOf(request),
              request: payload
            })
          }),
          { uninterruptible: true }
        )
        .handle("readSandboxLineage", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            snapshots.lineage(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null })
          )
        )
    })
  )
}
