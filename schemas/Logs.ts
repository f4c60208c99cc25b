/** The retained log of a Sandbox: its console, its synchronous commands and its operations. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, ReadsContent, RequiredScope } from "./Access.ts"
import { InvalidRequest, NotFound, SandboxUnavailable, UnsupportedByRuntime } from "./Errors.ts"
import { SandboxId } from "./Identifiers.ts"
import { logEntriesDefault, logEntriesMax } from "./Limits.ts"
import { oneOf } from "./OneOf.ts"
import { OutputStream } from "./Operation.ts"
import { instant, integerWithDefault } from "./Query.ts"
import { Timestamp } from "./Text.ts"

export const LogSource = oneOf("LogSource", ["workload", "execute", "process"]).annotate({
  description: "workload: the Sandbox's own console and init; execute: synchronous commands; process: operations."
})

export const LogEntry = Schema.Struct({
  at: Timestamp,
  stream: OutputStream,
  source: LogSource,
  operationId: Schema.NullOr(Schema.String).annotate({
    description: "The operation that wrote it; null for other sources."
  }),
  text: Schema.String.annotate({
    description: "One stored chunk, at most 64 KiB; bytes that are not UTF-8 show as U+FFFD."
  })
}).annotate({ identifier: "LogEntry" })

export const SandboxLogs = Schema.Struct({
  entries: Schema.Array(LogEntry),
  truncated: Schema.Boolean.annotate({ description: "There are older matches than those that are answered." })
}).annotate({ identifier: "SandboxLogs", description: "Oldest first." })

const query = {
  since: Schema.optionalKey(instant("Only entries at or after this instant.")),
  until: Schema.optionalKey(instant("Only entries before this instant.")),
  stream: Schema.optionalKey(OutputStream),
  source: Schema.optionalKey(LogSource),
  limit: integerWithDefault(
    { minimum: 1, maximum: logEntriesMax },
    logEntriesDefault,
    "Most entries of the answer: the newest that match."
  )
}

export class LogsGroup extends HttpApiGroup.make("logs")
  .add(
    HttpApiEndpoint.get("readLogs", "/sandboxes/:id/logs", {
      params: { id: SandboxId },
      query,
      success: Schema.Struct({ logs: SandboxLogs }),
      error: [InvalidRequest, NotFound, UnsupportedByRuntime, SandboxUnavailable]
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readLogs",
          summary: "Read the log of a Sandbox",
          description:
            "Readable whatever the Sandbox's status, also after its deletion, for the retention time. With more matches than `limit`, the newest are answered; an answer holds at most 16 MiB of text."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({ title: "Logs", description: "What the commands of a Sandbox and its console wrote." })
  ) {}
