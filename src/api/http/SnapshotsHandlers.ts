import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { RollbackRequest } from "../../../schemas/Rollback.ts"
import type { CreateSnapshotRequest } from "../../../schemas/Snapshot.ts"
import { snapshotMediaType } from "../../../schemas/SnapshotFile.ts"
import type { SnapshotResponse } from "../../../schemas/SnapshotRecord.ts"
import { Snapshots } from "../../snapshot/Snapshots.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { longUpload } from "./LongUpload.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

interface CaptureAsked {
  readonly params: { readonly id: string }
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  readonly payload: CreateSnapshotRequest
  readonly request: Parameters<typeof fingerprintOf>[0]
}

const takes = (snapshots: Snapshots["Service"]) =>
  Effect.fnUntraced(function* ({ params, headers, payload, request }: CaptureAsked) {
    const { accountId, requestId } = yield* Caller
    const snapshot = yield* snapshots.create(accountId, params.id, {
      requestId,
      idempotencyKey: headers["idempotency-key"] ?? null,
      fingerprint: yield* fingerprintOf(request),
      request: payload
    })
    noteTarget(request, snapshot.id)
    return { snapshot }
  })

interface RollbackAsked {
  readonly params: { readonly id: string }
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  readonly payload: RollbackRequest
  readonly request: Parameters<typeof fingerprintOf>[0]
}

const rollsBack = (snapshots: Snapshots["Service"]) =>
  Effect.fnUntraced(function* ({ params, headers, payload, request }: RollbackAsked) {
    const { accountId, requestId, exhaustedAt, scopes } = yield* Caller
    const rolled = yield* snapshots.rollback(accountId, params.id, {
      requestId,
      exhaustedAt,
      mayDelete: scopes.has("sandbox:delete"),
      idempotencyKey: headers["idempotency-key"] ?? null,
      fingerprint: yield* fingerprintOf(request),
      request: payload
    })
    if (rolled.kept !== null) noteTarget(request, rolled.kept.id)
    return rolled
  })

interface ExportCall {
  readonly params: { readonly id: string }
  readonly query: { readonly offset?: number | undefined }
}

const exported = (snapshots: Snapshots["Service"]) =>
  Effect.fnUntraced(function* ({ params, query }: ExportCall) {
    const { accountId } = yield* Caller
    const offset = query.offset ?? 0
    const { tag, bytes } = yield* snapshots.export(accountId, params.id, offset)
    return HttpServerResponse.raw(bytes, {
      contentType: snapshotMediaType,
      headers: { etag: tag, "x-service-offset": String(offset) }
    })
  })

interface ImportCall {
  readonly query: {
    readonly workspaceId: string
    readonly name?: string | undefined
    readonly expiresAt?: number | undefined
  }
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  readonly request: HttpServerRequest.HttpServerRequest
}

const imported = (snapshots: Snapshots["Service"]) => (call: ImportCall) =>
  Effect.gen(function* () {
    const { query, headers, request } = call
    const { accountId, requestId } = yield* Caller
    const body = request.source as IncomingMessage
    yield* longUpload(body)
    const snapshot = yield* snapshots.import({
      accountId,
      requestId,
      idempotencyKey: headers["idempotency-key"] ?? null,
      workspaceId: query.workspaceId,
      name: query.name ?? null,
      expiresAt: query.expiresAt ?? null,
      body
    })
    noteTarget(request, snapshot.id)
    return jsonAnswer<SnapshotResponse>({ snapshot }, 202)
  }).pipe(Effect.scoped)

export const SnapshotsHandlers = {
  layer: leanGroup(
    Api,
    "snapshots",
    Effect.fnUntraced(function* (handlers) {
      const snapshots = yield* Snapshots
      return handlers
        .handle("createSnapshot", takes(snapshots), { uninterruptible: true })
        .handle("exportSnapshot", exported(snapshots))
        .handleRaw("importSnapshot", imported(snapshots))
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
        .handle("rollbackSandbox", rollsBack(snapshots), { uninterruptible: true })
        .handle("readSandboxLineage", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            snapshots.lineage(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null })
          )
        )
    })
  )
}
