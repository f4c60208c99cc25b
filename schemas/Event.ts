/** Streams of server-sent events: transitions as they are committed. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import { CursorStale, InvalidRequest, NotFound, RateLimited } from "./Errors.ts"
import { SandboxId } from "./Identifiers.ts"
import { cursorMaxCharacters } from "./Limits.ts"
import { isCharactersBetween, isPlainText } from "./Text.ts"

const Position = Schema.String.check(isCharactersBetween(1, cursorMaxCharacters), isPlainText)

const query = {
  after: Schema.optionalKey(
    Position.annotate({
      description: "The `id` of the last event that was received; Last-Event-ID, if sent, counts instead."
    })
  )
}

const headers = Schema.Struct({
  "last-event-id": Schema.optionalKey(
    Position.annotate({ description: "As EventSource sends it: the `id` of the last event that was received." })
  )
})

/** The media type says the rest: the events are described in words. */
export const eventStream = HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" })

const told = [
  "Server-sent events (HTML Living Standard 9.2): `event: transition`, with an `id` and one line of JSON as `data`: a Transition with `kind` (sandbox, operation, preview, serviceAccess, connectionGrant, snapshot), `actorId` and `sandboxId`.",
  "Each committed transition is sent once, and those of one actor in the order of their revisions. This holds across reconnects that send the `id` of the last event, as `after` or as Last-Event-ID. Without either, the stream begins when it is opened, and may tell what was committed in the moments before; its first `id` comes immediately, without an event. A heartbeat (a comment, and an `id`) comes every 15 s.",
  "A position since which something is no longer kept is 409 CURSOR_STALE. The stream ends with its key, with the account's suspension and with the service's stop; then reconnect. An account has so many streams at a time (a setting); one more is 429. A preview's actorId is not its id."
].join("\n\n")

export class EventsGroup extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("streamSandboxEvents", "/sandboxes/:id/events", {
      params: { id: SandboxId },
      query,
      headers,
      success: eventStream,
      error: [InvalidRequest, NotFound, CursorStale, RateLimited]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "streamSandboxEvents",
          summary: "Watch a Sandbox and all that is in it",
          description: told
        })
      ),
    HttpApiEndpoint.get("streamEvents", "/events", {
      query,
      headers,
      success: eventStream,
      error: [InvalidRequest, CursorStale, RateLimited]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "streamEvents",
          summary: "Watch all Sandboxes of the account",
          description: `${told}\n\nThe account's wallet is no Sandbox: its transitions are not in here.`
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Events", description: "What happens, as it happens." })) {}
