import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { Sandbox, SandboxResponse } from "../../../schemas/Sandbox.ts"
import type { SandboxHistory } from "../../../schemas/Transition.ts"
import { Sandboxes } from "../../sandbox/Sandboxes.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { jsonAnswer, jsonTextAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { metadataFilter } from "./MetadataFilter.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

/** The JSON text by Sandbox: reads of an unchanged Sandbox return the same object. */
const texts = new WeakMap<Sandbox, string>()

const textOf = (sandbox: Sandbox): string => {
  const known = texts.get(sandbox)
  if (known !== undefined) return known
  const text = JSON.stringify({ sandbox } satisfies SandboxResponse)
  texts.set(sandbox, text)
  return text
}

export const SandboxesHandlers = {
  layer: leanGroup(
    Api,
    "sandboxes",
    Effect.fnUntraced(function* (handlers) {
      const sandboxes = yield* Sandboxes
      return handlers
        .handle(
          "listSandboxes",
          Effect.fnUntraced(function* ({ query }) {
            const { accountId } = yield* Caller
            const parameters = yield* HttpServerRequest.ParsedSearchParams
            return yield* sandboxes.list(accountId, {
              status: query.status ?? null,
              workspaceId: query.workspaceId ?? null,
              metadata: yield* metadataFilter(parameters),
              limit: query.limit ?? null,
              cursor: query.cursor ?? null
            })
          })
        )
        .handle(
          "createSandbox",
          Effect.fnUntraced(function* ({ headers, payload, query, request }) {
            const { accountId, requestId } = yield* Caller
            const { sandbox, replayStatus } = yield* sandboxes.create({
              accountId,
              requestId,
              idempotencyKey: headers["idempotency-key"] ?? null,
              fingerprint: yield* fingerprintOf(request),
              request: payload,
              wait: query.wait
            })
            noteTarget(request, sandbox.id)
            return jsonAnswer<SandboxResponse>({ sandbox }, replayStatus)
          }),
          { uninterruptible: true }
        )
        .handle("getSandbox", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(sandboxes.get(accountId, params.id), (sandbox) => jsonTextAnswer(textOf(sandbox)))
          )
        )
        .handle(
          "updateSandbox",
          ({ params, payload }) =>
            Effect.flatMap(Caller, ({ accountId, requestId, scopes }) =>
              Effect.map(
                sandboxes.update(accountId, params.id, {
                  requestId,
                  request: payload,
                  mayDelete: scopes.has("sandbox:delete")
                }),
                (sandbox) => ({ sandbox })
              )
            ),
          { uninterruptible: true }
        )
        .handle(
          "deleteSandbox",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) => sandboxes.remove(accountId, params.id, { requestId })),
          { uninterruptible: true }
        )
        .handle(
          "startSandbox",
          ({ params, headers, query }) =>
            Effect.flatMap(Caller, ({ accountId, requestId, exhaustedAt }) =>
              Effect.map(
                sandboxes.start(accountId, params.id, {
                  requestId,
                  exhaustedAt,
                  idempotencyKey: headers["idempotency-key"] ?? null,
                  wait: query.wait
                }),
                (sandbox) => ({ sandbox })
              )
            ),
          { uninterruptible: true }
        )
        .handle(
          "stopSandbox",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              Effect.map(sandboxes.stop(accountId, params.id, { requestId }), (sandbox) => ({ sandbox }))
            ),
          { uninterruptible: true }
        )
        .handle("listSandboxTransitions", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            sandboxes.transitions(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null })
          )
        )
        .handle("listSandboxHistory", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(
              sandboxes.history(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null }),
              (history) => jsonAnswer<SandboxHistory>(history)
            )
          )
        )
    })
  )
}
