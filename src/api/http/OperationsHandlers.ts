import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { ExecutionResult } from "../../../schemas/Execute.ts"
import type { OperationResponse } from "../../../schemas/Operation.ts"
import { Operations } from "../../operation/Operations.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { OpenStreams } from "./OpenStreams.ts"
import { outputAnswer, outputOffsets } from "./outputAnswer.ts"
import { outputRangeAnswer } from "./outputRangeAnswer.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

export const OperationsHandlers = {
  layer: leanGroup(
    Api,
    "operations",
    Effect.fnUntraced(function* (handlers) {
      const operations = yield* Operations
      const streams = yield* OpenStreams
      return handlers
        .handle("execute", ({ params, payload }) =>
          Effect.flatMap(Caller, ({ accountId, requestId, exhaustedAt }) =>
            Effect.map(operations.execute(accountId, params.id, payload, { requestId, exhaustedAt }), (result) =>
              jsonAnswer<{ readonly result: ExecutionResult }>({ result })
            )
          )
        )
        .handle(
          "startOperation",
          Effect.fnUntraced(function* ({ params, headers, payload, request }) {
            const { accountId, requestId, exhaustedAt } = yield* Caller
            const operation = yield* operations.start(accountId, params.id, {
              requestId,
              exhaustedAt,
              idempotencyKey: headers["idempotency-key"],
              fingerprint: yield* fingerprintOf(request),
              request: payload
            })
            noteTarget(request, operation.id)
            return { operation }
          }),
          { uninterruptible: true }
        )
        .handle("listOperations", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            operations.list(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null })
          )
        )
        .handle("getOperation", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(operations.get(accountId, params.id, params.operationId), (operation) =>
              jsonAnswer<OperationResponse>({ operation })
            )
          )
        )
        .handle("readOperationOutput", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(operations.output(accountId, params.id, params.operationId, query), outputRangeAnswer)
          )
        )
        .handle(
          "streamOperationOutput",
          Effect.fnUntraced(function* ({ params, query, headers }) {
            const caller = yield* Caller
            const from = outputOffsets(query, headers)
            const reading = yield* operations.follow(caller.accountId, params.id, params.operationId, from)
            return yield* outputAnswer(streams, caller, reading)
          }, Effect.uninterruptible)
        )
        .handle("waitOperation", ({ params, payload }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(operations.wait(accountId, params.id, params.operationId, payload), (operation) =>
              jsonAnswer<OperationResponse>({ operation })
            )
          )
        )
        .handle(
          "cancelOperation",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              Effect.map(operations.cancel(accountId, params.id, params.operationId, { requestId }), (operation) => ({
                operation
              }))
            ),
          { uninterruptible: true }
        )
        .handle("listOperationTransitions", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            operations.transitions(accountId, params.id, params.operationId, {
              limit: query.limit,
              cursor: query.cursor ?? null
            })
          )
        )
        .handle("listDeclinedEvents", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) => operations.declined(accountId, params.id, params.operationId))
        )
    })
  )
}
