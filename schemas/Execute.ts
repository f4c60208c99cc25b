/** A synchronous command. */
import { Schema } from "effect"
import { commandFields, Encoding, isStdinEncoded, Signal } from "./Command.ts"
import { executeTimeoutDefaultSeconds, executeTimeoutMaxSeconds } from "./Limits.ts"
import { withDefault } from "./Optional.ts"
import { Reason } from "./Sandbox.ts"
import { seconds } from "./Seconds.ts"
import { Timestamp } from "./Text.ts"

export const ExecuteRequest = Schema.Struct({
  ...commandFields,
  timeoutSeconds: withDefault(seconds({ minimum: 1, maximum: executeTimeoutMaxSeconds }), executeTimeoutDefaultSeconds)
})
  .check(isStdinEncoded)
  .annotate({ identifier: "ExecuteRequest" })
export interface ExecuteRequest extends Schema.Schema.Type<typeof ExecuteRequest> {}

export const ExecutionResult = Schema.Struct({
  exitCode: Schema.NullOr(Schema.Int).annotate({
    description: "Null when a signal ended it. 127: there is no such program; 126: it cannot run."
  }),
  signal: Signal,
  reason: Schema.NullOr(Reason).annotate({
    description: "Why it was killed, where that is known: `OUT_OF_MEMORY`. Null for every other end."
  }),
  stdout: Schema.String,
  stderr: Schema.String,
  stdoutTruncated: Schema.Boolean.annotate({ description: "Each stream keeps its first 1 MiB." }),
  stderrTruncated: Schema.Boolean,
  encoding: Encoding,
  startedAt: Timestamp,
  finishedAt: Timestamp,
  durationMs: Schema.Int
}).annotate({ identifier: "ExecutionResult" })
export interface ExecutionResult extends Schema.Schema.Type<typeof ExecutionResult> {}
