/** The processes of a Sandbox: everything that runs in it, of any command. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import { InvalidRequest, NotFound, SandboxUnavailable, UnsupportedByRuntime } from "./Errors.ts"
import { OperationId, SandboxId } from "./Identifiers.ts"
import { processGraceDefaultSeconds, processGraceMaxSeconds } from "./Limits.ts"
import { oneOf } from "./OneOf.ts"
import { integerWithDefault } from "./Query.ts"
import { isMatching, Timestamp } from "./Text.ts"

/** Names one process uniquely: a pid is used again, a pid with its start is not. */
export const ProcessId = Schema.String.check(
  isMatching(/^[1-9]\d{0,9}-\d{1,16}$/, { message: "Expected the id of a process, as the list gives it" })
).annotate({ identifier: "ProcessId", description: "The id of a process; opaque.", examples: ["4711-123456"] })

export const StartedBy = oneOf(
  "StartedBy",
  ["operation", "execute", "terminal", "ssh"],
  "The kind of call or connection whose command a process descends from."
)
export type StartedBy = Schema.Schema.Type<typeof StartedBy>

export const Process = Schema.Struct({
  id: ProcessId,
  pid: Schema.Int.annotate({ description: "As the Sandbox's programs see it." }),
  parentPid: Schema.Int.annotate({ description: "1 or 0 when what started it has ended." }),
  argv: Schema.Array(Schema.String).annotate({
    description: "The first 512 bytes of its command line; its name in brackets where it has none."
  }),
  user: Schema.NullOr(Schema.String).annotate({
    description: "Whose it is, as the Sandbox names users; null where its agent is of an earlier version."
  }),
  startedBy: Schema.NullOr(StartedBy).annotate({
    description:
      "The kind of call that started it or its ancestors, also when the ancestor has ended: a process that an execute left in the background is still of `execute`. Null: not known. A program that a preview or a tunnel reaches belongs to the call that started it."
  }),
  operationId: Schema.NullOr(OperationId).annotate({ description: "The operation, where `startedBy` is one." }),
  state: Schema.Literals(["running", "sleeping", "stopped", "zombie"]).annotate({
    description: "zombie: it has ended, and its parent has not asked for its outcome."
  }),
  startedAt: Timestamp.annotate({ description: "When it was started." }),
  cpuSeconds: Schema.Finite.annotate({ description: "Processor time that it has used." }),
  memoryBytes: Schema.Int.annotate({ description: "Resident memory." })
}).annotate({ identifier: "Process", description: "One process in a Sandbox." })
export interface Process extends Schema.Schema.Type<typeof Process> {}

export const ProcessList = Schema.Struct({
  processes: Schema.Array(Process).annotate({ description: "By pid." }),
  truncated: Schema.Boolean.annotate({ description: "There are more than the 2,048 that are shown." })
}).annotate({ identifier: "ProcessList", description: "What runs in a Sandbox." })
export interface ProcessList extends Schema.Schema.Type<typeof ProcessList> {}

const reached = [NotFound, UnsupportedByRuntime, SandboxUnavailable] as const

export class ProcessesGroup extends HttpApiGroup.make("processes")
  .add(
    HttpApiEndpoint.get("listProcesses", "/sandboxes/:id/processes", {
      params: { id: SandboxId },
      success: ProcessList,
      error: reached
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listProcesses",
          summary: "List the processes of a Sandbox",
          description:
            "Those of its commands and what they left in the background, as the Sandbox itself tells them; the service's own are not among them."
        })
      ),
    HttpApiEndpoint.delete("endProcess", "/sandboxes/:id/processes/:processId", {
      params: { id: SandboxId, processId: ProcessId },
      query: {
        graceSeconds: integerWithDefault(
          { minimum: 0, maximum: processGraceMaxSeconds },
          processGraceDefaultSeconds,
          "Time between TERM and KILL; 0 kills immediately."
        )
      },
      success: HttpApiSchema.NoContent,
      error: [InvalidRequest, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "endProcess",
          summary: "End one process",
          description:
            "Sends TERM, and KILL if it is still there after the grace. Answers immediately; 404 when the process has ended. Its children go on: an operation's whole tree is ended by cancel."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Processes", description: "What runs in a Sandbox." })) {}
