import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { SandboxLogs } from "../../../schemas/Logs.ts"
import { Logs } from "../../observe/logs/Logs.ts"
import { eventStreamAnswer } from "./EventStreamAnswer.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { logEvents, openLogPosition } from "./logEvents.ts"
import { OpenStreams } from "./OpenStreams.ts"

export const LogsHandlers = {
  layer: leanGroup(
    Api,
    "logs",
    Effect.fnUntraced(function* (handlers) {
      const logs = yield* Logs
      const streams = yield* OpenStreams
      return handlers
        .handle("readLogs", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(
              logs.read(accountId, params.id, {
                since: query.since ?? null,
                until: query.until ?? null,
                stream: query.stream ?? null,
                source: query.source ?? null,
                operationId: query.operationId ?? null,
                limit: query.limit
              }),
              (read) => jsonAnswer<{ readonly logs: SandboxLogs }>({ logs: read })
            )
          )
        )
        .handle(
          "streamLogs",
          Effect.fnUntraced(function* ({ params, query, headers }) {
            const { accountId, apiKeyId, sessionId } = yield* Caller
            const reading = yield* logs.follow(accountId, params.id, {
              since: query.since ?? null,
              stream: query.stream ?? null,
              source: query.source ?? null,
              operationId: query.operationId ?? null,
              limit: query.limit,
              after: yield* openLogPosition(params.id, headers["last-event-id"] ?? query.after ?? null)
            })
            const stream = logEvents(params.id, reading)
            const leave = yield* streams
              .open({ accountId, credentialId: apiKeyId ?? sessionId ?? "", end: () => stream.close() })
              .pipe(Effect.tapError(() => Effect.sync(() => stream.close())))
            return eventStreamAnswer(stream, leave)
          }, Effect.uninterruptible)
        )
    })
  )
}
