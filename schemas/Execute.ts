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
  timeoutSeconds: withDefault(
    seconds({ minimum: 1, maximum: executeTimeoutMaxSeconds }),
    executeTimeoutDefaultSeconds,
    "After so long the command is killed, and the answer is 408; a fraction counts, rounded up to a whole millisecond."
  )
})
  .check(isStdinEncoded)
  .annotate({ identifier: "ExecuteRequest", description: "A command to run and to wait for." })
export interface ExecuteRequest extends Schema.Schema.Type<typeof ExecuteRequest> {}

export const ExecutionResult = Schema.Struct({
  exitCode: Schema.NullOr(Schema.Int).annotate({
    description: "Null when a signal ended it. 127: there is no such program; 126: it cannot run."
  }),
  signal: Signal,
  reason: Schema.NullOr(Reason).annotate({
    description: "Why it was killed, where that is known: `OUT_OF_MEMORY`. Null for every other end."
  }),
  stdout: Schema.String.annotate({ description: "What it wrote to its output, in `encoding`." }),
  stderr: Schema.String.annotate({ description: "What it wrote to its error output, in `encoding`." }),
  stdoutTruncated: Schema.Boolean.annotate({ description: "It wrote more: each stream keeps its first 1 MiB." }),
  stderrTruncated: Schema.Boolean.annotate({ description: "It wrote more: each stream keeps its first 1 MiB." }),
  encoding: Encoding,
  startedAt: Timestamp.annotate({ description: "When it was started." }),
  finishedAt: Timestamp.annotate({ description: "When it had ended." }),
  durationMs: Schema.Int.annotate({ description: "How long it ran, in milliseconds." })
}).annotate({
  identifier: "ExecutionResult",
  description: "How a synchronous command ended, and what it wrote."
})
export interface ExecutionResult extends Schema.Schema.Type<typeof ExecutionResult> {}
