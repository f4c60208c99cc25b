import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Events } from "../../observe/events/Events.ts"
import { eventStreamAnswer } from "./EventStreamAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { OpenStreams } from "./OpenStreams.ts"

interface Asked {
  readonly query: { readonly after?: string }
  readonly headers: { readonly "last-event-id"?: string }
}

export const EventsHandlers = {
  layer: leanGroup(
    Api,
    "events",
    Effect.fnUntraced(function* (handlers) {
      const events = yield* Events
      const streams = yield* OpenStreams
      const open = Effect.fnUntraced(function* ({ query, headers }: Asked, sandboxId: string | null) {
        const { accountId, apiKeyId, sessionId } = yield* Caller
        const after = headers["last-event-id"] ?? query.after ?? null
        const stream = yield* events.open({ accountId, sandboxId, after })
        const leave = yield* streams
          .open({ accountId, credentialId: apiKeyId ?? sessionId ?? "", end: () => stream.close() })
          .pipe(Effect.tapError(() => Effect.sync(() => stream.close())))
        return eventStreamAnswer(stream, leave)
      }, Effect.uninterruptible)
      return handlers
        .handle("streamSandboxEvents", (asked) => open(asked, asked.params.id))
        .handle("streamEvents", (asked) => Effect.catchTag(open(asked, null), "NOT_FOUND", Effect.die))
    })
  )
}
