/** Tools that run commands. A command that outlasts a call continues as an operation; a later call needs only its id and offsets. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { operationMachine } from "../../../machines/operation.ts"
import { CommandText } from "../../../schemas/Command.ts"
import { OperationId, SandboxId } from "../../../schemas/Identifiers.ts"
import { offsetMax, operationWaitMaxSeconds } from "../../../schemas/Limits.ts"
import { type OutputStream, StartOperationRequest } from "../../../schemas/Operation.ts"
import { fingerprint } from "../../account/idempotency/Fingerprint.ts"
import { isTagged } from "../../engine/taggedStates.ts"
import { Operations } from "../../operation/Operations.ts"
import { Sandboxes } from "../../sandbox/Sandboxes.ts"
import { named, Outcome, outcomeOf, tailOf, Written, waited, written } from "./commandReading.ts"
import { shellCommand } from "./shellCommand.ts"
import { defineTool, type Tool, type ToolCaller } from "./Tool.ts"
import { idempotencyKey } from "./toolFields.ts"
import { directoryPath, workspace } from "./toolPath.ts"

export const waitDefaultSeconds = 20
export const outputDefaultBytes = 16 * 1024
const outputMaxBytes = 64 * 1024
/** The longest UTF-8 character. */
const outputMinBytes = 4

const isWithdrawn = isTagged(operationMachine, "withdrawn")

export const waitSeconds = (whatFor: string) =>
  Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: operationWaitMaxSeconds })).annotate({
      description: `How long to wait at most ${whatFor}; what it waits for continues in any case. By default ${waitDefaultSeconds}.`
    })
  )

export const maxOutputBytes = Schema.optionalKey(
  Schema.Int.check(Schema.isBetween({ minimum: outputMinBytes, maximum: outputMaxBytes })).annotate({
    description: `Maximum bytes of each stream in the answer. By default ${outputDefaultBytes}.`
  })
)

export const offset = (stream: OutputStream) =>
  Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: offsetMax })).annotate({
      description: `Where to continue in ${stream}: the nextOffset of the previous answer. By default 0, its start.`
    })
  )

const { argv, env, stdin, timeoutSeconds } = StartOperationRequest.fields

const runInput = Schema.Struct({
  sandboxId: SandboxId,
  command: Schema.optionalKey(
    CommandText.check(Schema.isMinLength(1)).annotate({
      description: "A command line for bash -c, or for sh -c in an image without Bash. Give either this or argv."
    })
  ),
  argv: Schema.optionalKey(argv),
  cwd: Schema.optionalKey(directoryPath("The directory in which it runs, which must exist. By default /workspace.")),
  env,
  stdin: stdin.annotate({
    description: "The complete input, as text; the input ends after it. Empty by default."
  }),
  timeoutSeconds,
  waitSeconds: waitSeconds("for its end"),
  maxOutputBytes,
  idempotencyKey: idempotencyKey("the same operation")
}).check(
  Schema.makeFilter<{ readonly command?: string; readonly argv?: ReadonlyArray<string> }>(
    (given) =>
      (given.command === undefined) !== (given.argv === undefined) || {
        path: ["command"],
        issue: "Expected either command or argv, and not both"
      },
    { expected: "either command or argv", toJsonSchema: () => ({}) }
  )
)

const runTool = (operations: Operations["Service"], sandboxes: Sandboxes["Service"]): Tool =>
  defineTool({
    name: "run",
    title: "Run a command",
    description:
      "Runs a command in a running Sandbox, and waits for its end. A command that takes longer than waitSeconds continues as an operation: status is running, or queued while the Sandbox runs as many commands as it may; output continues from the given offsets. The answer has the end of its output. A non-zero exitCode is a normal result, not an error of this call.",
    action: "startOperation",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    input: runInput,
    output: Written,
    call: Effect.fnUntraced(function* (given, caller: ToolCaller) {
      const commandOf = (line: string) =>
        Effect.map(sandboxes.get(caller.accountId, given.sandboxId), ({ imageId }) => shellCommand(line, imageId))
      const request: StartOperationRequest = {
        argv: given.argv ?? (yield* commandOf(given.command!)),
        cwd: given.cwd ?? workspace,
        env: given.env,
        stdin: given.stdin,
        encoding: "utf8",
        timeoutSeconds: given.timeoutSeconds
      }
      const started = yield* operations
        .start(caller.accountId, given.sandboxId, {
          requestId: caller.requestId,
          exhaustedAt: caller.exhaustedAt,
          idempotencyKey: given.idempotencyKey ?? randomUUID(),
          fingerprint: fingerprint("POST", `/mcp ${given.sandboxId}`, JSON.stringify(request)),
          request
        })
        .pipe(Effect.uninterruptible)
      caller.made(started.id)
      const operation = yield* waited(operations, caller, started, given.waitSeconds ?? waitDefaultSeconds, null)
      const limit = given.maxOutputBytes ?? outputDefaultBytes
      return yield* written(operations, caller, operation, {
        stdout: tailOf(operation.output.stdoutBytes, limit),
        stderr: tailOf(operation.output.stderrBytes, limit)
      })
    })
  })

const outputTool = (operations: Operations["Service"]): Tool =>
  defineTool({
    name: "output",
    title: "Read the output of a command",
    description:
      "Reads a command's output from the given offsets on. If there is nothing new, it waits for more output, or for the command's end. The output of an ended command is kept, too.",
    action: "readOperationOutput",
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({
      sandboxId: SandboxId,
      operationId: Schema.optionalKey(OperationId.annotate({ description: "The command. By default the latest." })),
      stdoutOffset: offset("stdout"),
      stderrOffset: offset("stderr"),
      waitSeconds: waitSeconds("where nothing new was written"),
      maxOutputBytes
    }),
    output: Written,
    call: Effect.fnUntraced(function* (given, caller: ToolCaller) {
      const from = { stdout: given.stdoutOffset ?? 0, stderr: given.stderrOffset ?? 0 }
      const first = yield* named(operations, caller, given.sandboxId, given.operationId)
      const operation = yield* waited(operations, caller, first, given.waitSeconds ?? waitDefaultSeconds, from)
      const limit = given.maxOutputBytes ?? outputDefaultBytes
      return yield* written(operations, caller, operation, {
        stdout: { offset: from.stdout, limit, isTail: false },
        stderr: { offset: from.stderr, limit, isTail: false }
      })
    })
  })

const cancelTool = (operations: Operations["Service"]): Tool =>
  defineTool({
    name: "cancel",
    title: "Cancel a command",
    description:
      "Ends a command with all of its processes: TERM, then KILL after 2 s. A command that has already ended keeps its result.",
    action: "cancelOperation",
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: Schema.Struct({ sandboxId: SandboxId, operationId: OperationId }),
    output: Outcome,
    call: ({ sandboxId, operationId }, { accountId, requestId }) =>
      Effect.map(operations.cancel(accountId, sandboxId, operationId, { requestId }), (operation) => ({
        ...outcomeOf(operation),
        note: isWithdrawn(operation.status) ? "What it wrote until then can be read with output." : null
      })).pipe(Effect.uninterruptible)
  })

export const commandTools = Effect.gen(function* () {
  const operations = yield* Operations
  const sandboxes = yield* Sandboxes
  return [runTool(operations, sandboxes), outputTool(operations), cancelTool(operations)]
})
