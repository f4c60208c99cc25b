import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Analytics } from "../../observe/analytics/Analytics.ts"

export const AnalyticsHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "analytics",
    Effect.fnUntraced(function* (handlers) {
      const analytics = yield* Analytics
      return handlers.handle("readAnalytics", ({ params, query }) =>
        Effect.flatMap(Caller, ({ accountId }) =>
          Effect.map(
            analytics.read(accountId, params.id, {
              from: query.from ?? null,
              to: query.to ?? null,
              resolutionSeconds: query.resolutionSeconds,
              generation: query.generation ?? null
            }),
            (read) => ({ analytics: read })
          )
        )
      )
    })
  )
}
