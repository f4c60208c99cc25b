/** The retained log of a Sandbox: its console, its synchronous commands and its operations. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, MayBeLarge, ReadsContent, RequiredScope } from "./Access.ts"
import {
  CursorStale,
  InvalidRequest,
  NotFound,
  RateLimited,
  SandboxUnavailable,
  UnsupportedByRuntime
} from "./Errors.ts"
import { eventStream } from "./Event.ts"
import { OperationId, SandboxId } from "./Identifiers.ts"
import { logEntriesDefault, logEntriesFollowedMax, logEntriesMax } from "./Limits.ts"
import { oneOf } from "./OneOf.ts"
import { OutputStream } from "./Operation.ts"
import { instant, integerWithDefault } from "./Query.ts"
import { isMatching, Timestamp } from "./Text.ts"

export const LogSource = oneOf(
  "LogSource",
  ["workload", "execute", "process"],
  "workload: the Sandbox's own console and init; execute: synchronous commands; process: operations."
)

export const LogEntry = Schema.Struct({
  id: Schema.String.annotate({ description: "Opaque; the same whenever and however this entry is read." }),
  at: Timestamp.annotate({ description: "When it was stored." }),
  stream: OutputStream,
  source: LogSource,
  operationId: Schema.NullOr(Schema.String).annotate({
    description: "The operation that wrote it; null for other sources."
  }),
  text: Schema.String.annotate({
    description: "One stored chunk, at most 64 KiB; bytes that are not UTF-8 show as U+FFFD."
  })
}).annotate({ identifier: "LogEntry", description: "What one stream wrote, in one piece." })
export interface LogEntry extends Schema.Schema.Type<typeof LogEntry> {}

export const SandboxLogs = Schema.Struct({
  entries: Schema.Array(LogEntry).annotate({ description: "Those that match." }),
  truncated: Schema.Boolean.annotate({ description: "There are older matches than those that are answered." })
}).annotate({ identifier: "SandboxLogs", description: "Oldest first." })
export interface SandboxLogs extends Schema.Schema.Type<typeof SandboxLogs> {}

const filter = {
  since: Schema.optionalKey(instant("Only entries at or after this instant.")),
  stream: Schema.optionalKey(OutputStream),
  source: Schema.optionalKey(LogSource),
  /** Only the output of this one. */
  operationId: Schema.optionalKey(OperationId)
}

const query = {
  ...filter,
  until: Schema.optionalKey(instant("Only entries before this instant.")),
  limit: integerWithDefault(
    { minimum: 1, maximum: logEntriesMax },
    logEntriesDefault,
    "Most entries of the answer: the newest that match."
  )
}

/** One without its mark, as earlier versions gave it and as a cut one is, is stale. */
const Position = Schema.String.check(
  isMatching(/^\d{1,16}-\d{1,16}(?:-[0-9a-f]{12})?$/, { expected: "the id of an event" })
)

export class LogsGroup extends HttpApiGroup.make("logs")
  .add(
    HttpApiEndpoint.get("readLogs", "/sandboxes/:id/logs", {
      params: { id: SandboxId },
      query,
      success: Schema.Struct({ logs: SandboxLogs }).annotate({
        identifier: "LogsResponse",
        description: "A Sandbox's logs."
      }),
      error: [InvalidRequest, NotFound, RateLimited, UnsupportedByRuntime, SandboxUnavailable]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readLogs",
          summary: "Read the log of a Sandbox",
          description:
            "Readable in every status of the Sandbox, also after its deletion, for the retention time. With `operationId`, only what that operation wrote. With more matches than `limit`, the newest are answered; an answer holds at most 16 MiB of text, as JSON."
        })
      ),
    HttpApiEndpoint.get("streamLogs", "/sandboxes/:id/logs/stream", {
      params: { id: SandboxId },
      query: {
        ...filter,
        limit: integerWithDefault(
          { minimum: 1, maximum: logEntriesFollowedMax },
          logEntriesDefault,
          "Most entries of what is stored already that are told first: the newest that match."
        ),
        after: Schema.optionalKey(
          Position.annotate({
            description: "The `id` of the last event that was received; Last-Event-ID counts instead."
          })
        )
      },
      headers: Schema.Struct({
        "last-event-id": Schema.optionalKey(
          Position.annotate({ description: "As EventSource sends it: the `id` of the last event that was received." })
        )
      }),
      success: eventStream,
      error: [InvalidRequest, NotFound, CursorStale, RateLimited]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "streamLogs",
          summary: "Follow the log as it is written",
          description:
            "Server-sent events: `log`, with one line of JSON as `data`, a SandboxLogs. The first holds the newest of what is stored already (at most 1 MiB of text), oldest first, and whether there is more; it comes also where there is nothing. From then on each entry comes as it is stored, in that order. When several commands run concurrently it may differ from the order of their instants. With `after` or Last-Event-ID the stream goes on from there, and may tell the last seconds before it again: an entry has the same `id` then. The `id` of another Sandbox's stream, or of a time that the database does not have (after a restore), is 409 CURSOR_STALE. What retention forgot meanwhile is not told. A client that reads slowly is waited for. A heartbeat (a comment, and an `id`) comes every 15 s in which nothing is written."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({ title: "Logs", description: "What the commands of a Sandbox and its console wrote." })
  ) {}
