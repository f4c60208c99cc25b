import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../schemas/Access.ts"
import { Api } from "../../schemas/Api.ts"
import type { SandboxLogs } from "../../schemas/Logs.ts"
import { Logs } from "../logs/Logs.ts"
import { jsonAnswer } from "./JsonAnswer.ts"

export const LogsHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "logs",
    Effect.fnUntraced(function* (handlers) {
      const logs = yield* Logs
      return handlers.handle("readLogs", ({ params, query }) =>
        Effect.flatMap(Caller, ({ accountId }) =>
          Effect.map(
            logs.read(accountId, params.id, {
              since: query.since ?? null,
              until: query.until ?? null,
              stream: query.stream ?? null,
              source: query.source ?? null,
              limit: query.limit
            }),
            (read) => jsonAnswer<{ readonly logs: typeof SandboxLogs.Type }>({ logs: read })
          )
        )
      )
    })
  )
}
