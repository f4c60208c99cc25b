/** Commands and operations: a command that is observed on its own, with readable output. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, MayBeLarge, OptionalBody, ReadOnly, ReadsContent, RequiredScope } from "./Access.ts"
import { commandFields, isStdinEncoded, Signal } from "./Command.ts"
import {
  CreditExhausted,
  ExecutionTimeout,
  IdempotencyConflict,
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  SandboxUnavailable,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import { ExecuteRequest, ExecutionResult } from "./Execute.ts"
import * as IdempotencyKey from "./IdempotencyKey.ts"
import { OperationId, SandboxId } from "./Identifiers.ts"
import {
  declinedEventsMax,
  offsetMax,
  operationOutputChunkDefaultBytes,
  operationOutputChunkMaxBytes,
  operationTimeoutMaxSeconds,
  operationWaitMaxSeconds
} from "./Limits.ts"
import { oneOf } from "./OneOf.ts"
import { orNull, withDefault } from "./Optional.ts"
import { integer, integerWithDefault, NextCursor, page } from "./Query.ts"
import { Reason } from "./Sandbox.ts"
import { seconds } from "./Seconds.ts"
import { isMatching, Timestamp } from "./Text.ts"
import { DeclinedEventList, TransitionList } from "./Transition.ts"

export const operationStatuses = ["queued", "running", "completed", "cancelled", "failed"] as const

export const OutputStream = oneOf("OutputStream", ["stdout", "stderr"], "Which of a command's two streams.")
export type OutputStream = typeof OutputStream.Type

export const StartOperationRequest = Schema.Struct({
  ...commandFields,
  timeoutSeconds: orNull(
    seconds({ minimum: 1, maximum: operationTimeoutMaxSeconds }),
    "After so long it is killed and failed, counted from startedAt: waiting in the queue does not count. A fraction counts, rounded up to a whole millisecond. Absent or null: never."
  )
})
  .check(isStdinEncoded)
  .annotate({ identifier: "StartOperationRequest", description: "A command to start; it runs on its own." })
export interface StartOperationRequest extends Schema.Schema.Type<typeof StartOperationRequest> {}

export const Operation = Schema.Struct({
  id: OperationId,
  sandboxId: SandboxId,
  status: Schema.Literals(operationStatuses).annotate({
    description:
      "queued: accepted, and it waits for its turn. completed, cancelled and failed are terminal and immutable. A non-zero exit is completed. failed: the outcome is unknown, it never ran, or its time-out passed; reason says which."
  }),
  argv: Schema.Array(Schema.String).annotate({ description: "The program and its arguments." }),
  cwd: Schema.String.annotate({ description: "Where it runs." }),
  exitCode: Schema.NullOr(Schema.Int).annotate({
    description:
      "Only of a completed operation, and null where a signal ended it. Always null of a cancelled or failed one, also when its program handled the signal and ended by itself afterwards: its result was final before that."
  }),
  signal: Signal,
  reason: Schema.NullOr(Reason).annotate({
    description:
      "Of every failed operation; of a completed one only `OUT_OF_MEMORY`: the command was killed because the Sandbox's memory was used up."
  }),
  createdAt: Timestamp.annotate({ description: "When it was accepted." }),
  startedAt: Schema.NullOr(Timestamp).annotate({
    description: "When its command was started; null: not yet, or never."
  }),
  finishedAt: Schema.NullOr(Timestamp).annotate({ description: "When its status became terminal; null: not yet." }),
  output: Schema.Struct({
    stdoutBytes: Schema.Int.annotate({ description: "Of stdout." }),
    stderrBytes: Schema.Int.annotate({ description: "Of stderr." })
  }).annotate({ description: "Bytes ever stored of each stream." }),
  processTree: Schema.Literals(["running", "gone", "unconfirmed"]).annotate({
    description:
      "What is left of the command's processes; may settle after the terminal status. unconfirmed: the service does not know. That also holds for a queued operation: its command is not known to have started."
  })
}).annotate({
  identifier: "Operation",
  description: "A command that runs independently of the request that started it, and its result."
})
export interface Operation extends Schema.Schema.Type<typeof Operation> {}

export const OperationResponse = Schema.Struct({ operation: Operation }).annotate({
  identifier: "OperationResponse",
  description: "One operation."
})

export interface OperationResponse extends Schema.Schema.Type<typeof OperationResponse> {}

export const OperationList = Schema.Struct({
  operations: Schema.Array(Operation).annotate({ description: "One page." }),
  nextCursor: NextCursor
}).annotate({ identifier: "OperationList", description: "Newest first." })
export interface OperationList extends Schema.Schema.Type<typeof OperationList> {}

const Offset = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: offsetMax }))

export const WaitOperationRequest = Schema.Struct({
  timeoutSeconds: withDefault(
    seconds({ minimum: 0, maximum: operationWaitMaxSeconds }),
    operationWaitMaxSeconds,
    "How long to wait at most; a fraction counts, rounded up to a whole millisecond."
  ),
  stdoutOffset: orNull(Offset, "Absolute byte offset: more output than this ends the wait. Absent or null: none does."),
  stderrOffset: orNull(
    Offset,
    "Absolute byte offset: more error output than this ends the wait. Absent or null: none does."
  )
}).annotate({
  identifier: "WaitOperationRequest",
  description: "An absent body means {}. Given an offset, output beyond it also ends the wait."
})
export interface WaitOperationRequest extends Schema.Schema.Type<typeof WaitOperationRequest> {}

export const OperationOutputChunk = Schema.Struct({
  stream: OutputStream,
  offset: Schema.Int.annotate({ description: "Absolute offset of the first byte of data." }),
  nextOffset: Schema.Int.annotate({ description: "Ask for this offset next." }),
  data: Schema.String.annotate({ format: "byte", description: "The bytes, in base64." }),
  encoding: Schema.Literal("base64").annotate({ description: "Of data." }),
  truncated: Schema.Boolean.annotate({ description: "Earlier bytes that were asked for are no longer retained." }),
  eof: Schema.Boolean.annotate({ description: "The operation is terminal and all of this stream was read." })
}).annotate({ identifier: "OperationOutputChunk", description: "A range of one stream of an operation." })
export interface OperationOutputChunk extends Schema.Schema.Type<typeof OperationOutputChunk> {}

export const outputQuery = {
  stream: OutputStream,
  offset: integer({ minimum: 0, maximum: offsetMax }, { description: "Absolute byte offset." }),
  limit: integerWithDefault(
    { minimum: 1, maximum: operationOutputChunkMaxBytes },
    operationOutputChunkDefaultBytes,
    "Most decoded bytes of the answer."
  )
}

export const outputStreamQuery = {
  stdoutOffset: integerWithDefault({ minimum: 0, maximum: offsetMax }, 0, "Absolute byte offset."),
  stderrOffset: integerWithDefault({ minimum: 0, maximum: offsetMax }, 0, "Absolute byte offset.")
}

export const outputStreamHeaders = Schema.Struct({
  "last-event-id": Schema.optionalKey(
    Schema.String.check(isMatching(/^\d{1,16}-\d{1,16}$/, { expected: "the id of an event" })).annotate({
      description: "As EventSource sends it: counts instead of the offsets."
    })
  )
})

const sandboxParams = { id: SandboxId }
const operationParams = {
  ...sandboxParams,
  operationId: OperationId
}
const reached = [NotFound, UnsupportedByRuntime, SandboxUnavailable] as const
const jsonBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType] as const

export class OperationsGroup extends HttpApiGroup.make("operations")
  .add(
    HttpApiEndpoint.post("execute", "/sandboxes/:id/execute", {
      params: sandboxParams,
      payload: ExecuteRequest,
      success: Schema.Struct({ result: ExecutionResult }).annotate({
        identifier: "ExecuteResponse",
        description: "How a command ended."
      }),
      error: [...jsonBody, CreditExhausted, ExecutionTimeout, RateLimited, ...reached]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "execute",
          summary: "Run a command and wait for its end",
          description:
            "When the time is over, or the caller goes away, the whole process tree is ended. 408 carries in details what the result held so far. A cwd that does not exist: 400. 429 while the account's clients leave too much of earlier answers unread: nothing was run. 502 with details.outcome unknown: the command may have run; look before you repeat it."
        })
      ),
    HttpApiEndpoint.post("startOperation", "/sandboxes/:id/operations", {
      params: sandboxParams,
      headers: IdempotencyKey.required,
      payload: StartOperationRequest,
      success: OperationResponse.pipe(HttpApiSchema.status(202)),
      error: [...jsonBody, CreditExhausted, IdempotencyConflict, RateLimited, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "startOperation",
          summary: "Start an operation",
          description:
            "It runs on when the caller disconnects. A Sandbox runs a limited number of operations concurrently (192, a setting). More wait as `queued` and begin in the order of their acceptance, each as soon as another ends. A queued one can be cancelled and then never runs; when the Sandbox stops, it fails as those that run do. So many may wait (1,000, a setting): one more is 429 with Retry-After, and the same Idempotency-Key is still free. A repeated Idempotency-Key recovers the original operation, as long as that is kept: 30 days after its end (a setting)."
        })
      ),
    HttpApiEndpoint.get("listOperations", "/sandboxes/:id/operations", {
      params: sandboxParams,
      query: page,
      success: OperationList,
      error: [InvalidRequest, RateLimited, ...reached]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listOperations",
          summary: "List the operations of a Sandbox",
          description:
            "Newest first, ended ones as long as they are kept: 30 days after their end (a setting). Queued ones begin in the opposite order."
        })
      ),
    HttpApiEndpoint.get("getOperation", "/sandboxes/:id/operations/:operationId", {
      params: operationParams,
      success: OperationResponse,
      error: reached
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getOperation",
          summary: "Get an operation",
          description: "As it is now. waitOperation tells of a change as it happens."
        })
      ),
    HttpApiEndpoint.get("readOperationOutput", "/sandboxes/:id/operations/:operationId/output", {
      params: operationParams,
      query: outputQuery,
      success: OperationOutputChunk,
      error: [InvalidRequest, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readOperationOutput",
          summary: "Read output by absolute byte offset",
          description:
            "The last 16 MiB of each stream are retained (a setting): an earlier offset answers from the first retained byte with truncated true. An offset past the end answers an empty chunk at that offset. A command that writes faster than its Sandbox's output may be stored in the long run (a setting) is held back, as by a slow pipe; no byte is dropped for it."
        })
      ),
    HttpApiEndpoint.get("streamOperationOutput", "/sandboxes/:id/operations/:operationId/output/stream", {
      params: operationParams,
      query: outputStreamQuery,
      headers: outputStreamHeaders,
      success: HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }),
      error: [InvalidRequest, RateLimited, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "streamOperationOutput",
          summary: "Follow the output as it is written",
          description:
            "Server-sent events, each with one line of JSON as `data`: `output` {stream, offset, nextOffset, data (base64), truncated}, and at last `operation` {operation}, when the operation is terminal and all of its output was told; then the stream ends. It goes on from the offsets, or from Last-Event-ID, which carries both. The two streams are told apart, not in the order in which they were written. A client that reads slowly is waited for, and may miss what is no longer retained: truncated says so. A heartbeat comment comes every 15 s in which nothing is written."
        })
      ),
    HttpApiEndpoint.post("waitOperation", "/sandboxes/:id/operations/:operationId/wait", {
      params: operationParams,
      payload: WaitOperationRequest,
      success: OperationResponse,
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(OptionalBody, true)
      .annotate(ReadOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "waitOperation",
          summary: "Wait for progress",
          description:
            "Answers on the first of: a terminal status, a status change, output beyond a given offset, the time-out. The command is never cancelled by it."
        })
      ),
    HttpApiEndpoint.post("cancelOperation", "/sandboxes/:id/operations/:operationId/cancel", {
      params: operationParams,
      success: OperationResponse,
      error: reached
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "cancelOperation",
          summary: "Cancel an operation",
          description:
            "Cancelled or, when completion won the race, the completed result; repeated: the existing terminal result. Final with this answer, before the command has ended: its processes get TERM, then KILL after 2 s, and what they print meanwhile is stored, but exitCode and signal stay null. A body is not read."
        })
      ),
    HttpApiEndpoint.get("listOperationTransitions", "/sandboxes/:id/operations/:operationId/transitions", {
      params: operationParams,
      query: page,
      success: TransitionList,
      error: [InvalidRequest, RateLimited, ...reached]
    })
      .annotate(MayBeLarge, true)
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listOperationTransitions",
          summary: "The transition log of an operation",
          description: "Every step of its state machine, from its acceptance on. It is kept as long as the operation."
        })
      ),
    HttpApiEndpoint.get("listDeclinedEvents", "/sandboxes/:id/operations/:operationId/declined", {
      params: operationParams,
      success: DeclinedEventList,
      error: reached
    })
      .annotate(RequiredScope, "sandbox:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listDeclinedEvents",
          summary: "What an operation did not take",
          description: `The events that lost a race: those that came to the operation and changed nothing, so that its transition log does not have them. A cancel after the end, an exit that was seen after a cancel. The first ${declinedEventsMax} are kept, as long as the operation is.`
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({ title: "Commands and operations", description: "Commands in a Sandbox, given as argv." })
  ) {}
