/** Tools that run commands. A command that outlasts a call continues as an operation; a later call needs only its id and offsets. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Schema } from "effect"
import { operationMachine } from "../../../machines/operation.ts"
import { CommandText } from "../../../schemas/Command.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import { OperationId, SandboxId } from "../../../schemas/Identifiers.ts"
import { offsetMax, operationWaitMaxSeconds } from "../../../schemas/Limits.ts"
import { Operation, type OutputStream, StartOperationRequest } from "../../../schemas/Operation.ts"
import { fingerprint } from "../../account/idempotency/Fingerprint.ts"
import { isTagged, taggedStates } from "../../engine/taggedStates.ts"
import { Operations } from "../../operation/Operations.ts"
import { openCharacter } from "../../operation/OutputSplit.ts"
import { headOfNone, textOf } from "./guestText.ts"
import { defineTool, type Tool, type ToolCaller } from "./Tool.ts"
import { idempotencyKey } from "./toolFields.ts"
import { directoryPath, workspace } from "./toolPath.ts"

const waitDefaultSeconds = 20
const outputDefaultBytes = 16 * 1024
const outputMaxBytes = 64 * 1024
/** The longest UTF-8 character. */
const outputMinBytes = 4

const isWithdrawn = isTagged(operationMachine, "withdrawn")
const terminalStates = taggedStates(operationMachine, "terminal")
const isOver = ({ status }: Operation): boolean => terminalStates.includes(status)

const Text = (stream: OutputStream) =>
  Schema.Struct({
    text: Schema.String.annotate({ description: "Invalid UTF-8 is shown as U+FFFD." }),
    offset: Schema.Int.annotate({ description: "Absolute byte offset of the start of text." }),
    nextOffset: Schema.Int.annotate({ description: `Pass it to output as ${stream}Offset to continue after text.` }),
    totalBytes: Schema.Int.annotate({ description: "Written so far." }),
    truncated: Schema.Boolean.annotate({
      description: "Bytes before offset are not in text: note says how to read them, if they are kept."
    }),
    eof: Schema.Boolean.annotate({ description: "Nothing follows text." })
  }).annotate({ description: `Of its ${stream}.` })

const outcomeFields = {
  operationId: OperationId.annotate({ description: "The handle of the command, for output and cancel." }),
  sandboxId: SandboxId,
  status: Operation.fields.status,
  exitCode: Operation.fields.exitCode,
  signal: Operation.fields.signal,
  reason: Operation.fields.reason
}

const note = Schema.NullOr(Schema.String).annotate({ description: "The next step, if there is one." })

const Outcome = Schema.Struct({ ...outcomeFields, note })
const Written = Schema.Struct({ ...outcomeFields, stdout: Text("stdout"), stderr: Text("stderr"), note })

const outcomeOf = (operation: Operation) => ({
  operationId: operation.id,
  sandboxId: operation.sandboxId,
  status: operation.status,
  exitCode: operation.exitCode,
  signal: operation.signal,
  reason: operation.reason
})

const waitSeconds = (whatFor: string) =>
  Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: operationWaitMaxSeconds })).annotate({
      description: `How long to wait at most ${whatFor}; the command continues in any case. By default ${waitDefaultSeconds}.`
    })
  )

const maxOutputBytes = Schema.optionalKey(
  Schema.Int.check(Schema.isBetween({ minimum: outputMinBytes, maximum: outputMaxBytes })).annotate({
    description: `Maximum bytes of each stream in the answer. By default ${outputDefaultBytes}.`
  })
)

const offset = (stream: OutputStream) =>
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
      description: "A command line for bash -c. Give either this or argv."
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

const elapsedSeconds = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n) / 1000)

interface Offsets {
  readonly stdout: number
  readonly stderr: number
}

interface Read extends Schema.Schema.Type<ReturnType<typeof Text>> {
  /** The missing bytes can still be read. */
  readonly isKept: boolean
}

interface Range {
  readonly offset: number
  readonly limit: number
  /** The tool chose the start, not the caller. */
  readonly isTail: boolean
}

const tailOf = (totalBytes: number, limit: number): Range => ({
  offset: Math.max(0, totalBytes - limit),
  limit,
  isTail: true
})

const told = ({ isKept: _, ...piece }: Read) => piece

const before = (stream: OutputStream, { offset, isKept }: Read): string =>
  isKept
    ? `The first ${offset} bytes of ${stream} are left out: call output with ${stream}Offset 0 to read them.`
    : `Bytes of ${stream} before ${offset} are not kept any more.`

const noteOf = (operation: Operation, read: Readonly<Record<OutputStream, Read>>): string | null => {
  const { stdout, stderr } = read
  const parts = (["stdout", "stderr"] as const).flatMap((stream) => {
    const { truncated, nextOffset, eof } = read[stream]
    return [
      ...(truncated ? [before(stream, read[stream])] : []),
      ...(isOver(operation) && !eof
        ? [`There may be more of ${stream}: call output with ${stream}Offset ${nextOffset}.`]
        : [])
    ]
  })
  if (!isOver(operation)) {
    parts.push(
      `The command has not ended: call output with stdoutOffset ${stdout.nextOffset} and stderrOffset ${stderr.nextOffset} to wait for more, or cancel.`
    )
  }
  return parts.length === 0 ? null : parts.join(" ")
}

export const commandTools = Effect.gen(function* () {
  const operations = yield* Operations

  /** Waits until the command has ended, or has written beyond the offsets, up to the given time. Returns immediately when the service stops. */
  const waited = Effect.fnUntraced(function* (
    { accountId }: ToolCaller,
    first: Operation,
    seconds: number,
    beyond: Offsets | null
  ) {
    const until = (yield* elapsedSeconds) + seconds
    let operation = first
    while (!isOver(operation)) {
      const hasMore =
        beyond !== null &&
        (operation.output.stdoutBytes > beyond.stdout || operation.output.stderrBytes > beyond.stderr)
      const left = until - (yield* elapsedSeconds)
      if (hasMore || left <= 0) break
      const { status } = operation
      operation = yield* operations.wait(accountId, operation.sandboxId, operation.id, {
        timeoutSeconds: left,
        stdoutOffset: beyond?.stdout ?? null,
        stderrOffset: beyond?.stderr ?? null
      })
      if (operation.status === status) break
    }
    return operation
  })

  const read = Effect.fnUntraced(function* (
    { accountId }: ToolCaller,
    { id, sandboxId, output }: Operation,
    stream: OutputStream,
    { offset, limit, isTail }: Range
  ) {
    const chunk = yield* operations.output(accountId, sandboxId, id, { stream, offset, limit })
    const bytes = Buffer.from(chunk.data, "base64")
    const head = isTail && chunk.offset > 0 ? headOfNone(bytes) : 0
    const held = chunk.eof ? 0 : openCharacter(bytes)
    // A piece with nothing but an incomplete character is returned as it is; otherwise the offset would never advance.
    const end = bytes.length - held > head ? bytes.length - held : bytes.length
    return {
      text: textOf(bytes.subarray(head, end)),
      offset: chunk.offset + head,
      nextOffset: chunk.offset + end,
      // The chunk may be newer than the totals; an offset beyond all output proves nothing.
      totalBytes: bytes.length === 0 ? output[`${stream}Bytes`] : Math.max(output[`${stream}Bytes`], chunk.nextOffset),
      truncated: chunk.truncated || (isTail && chunk.offset + head > 0),
      eof: chunk.eof,
      isKept: isTail && !chunk.truncated
    } satisfies Read
  })

  const written = Effect.fnUntraced(function* (
    caller: ToolCaller,
    operation: Operation,
    ranges: Readonly<Record<OutputStream, Range>>
  ) {
    const stdout = yield* read(caller, operation, "stdout", ranges.stdout)
    const stderr = yield* read(caller, operation, "stderr", ranges.stderr)
    const hasEndedSince = !isOver(operation) && (stdout.eof || stderr.eof)
    const latest = hasEndedSince
      ? yield* operations.get(caller.accountId, operation.sandboxId, operation.id)
      : operation
    return {
      ...outcomeOf(latest),
      stdout: told(stdout),
      stderr: told(stderr),
      note: noteOf(latest, { stdout, stderr })
    }
  })

  const named = Effect.fnUntraced(function* (
    { accountId }: ToolCaller,
    sandboxId: string,
    operationId: string | undefined
  ) {
    if (operationId !== undefined) return yield* operations.get(accountId, sandboxId, operationId)
    const [newest] = (yield* operations.list(accountId, sandboxId, { limit: 1, cursor: null })).operations
    return newest ?? (yield* new NotFound({ message: "No command was run in this Sandbox yet." }))
  })

  const tools: ReadonlyArray<Tool> = [
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
        const request: StartOperationRequest = {
          argv: given.argv ?? ["bash", "-c", given.command!],
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
        const operation = yield* waited(caller, started, given.waitSeconds ?? waitDefaultSeconds, null)
        const limit = given.maxOutputBytes ?? outputDefaultBytes
        return yield* written(caller, operation, {
          stdout: tailOf(operation.output.stdoutBytes, limit),
          stderr: tailOf(operation.output.stderrBytes, limit)
        })
      })
    }),

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
        const first = yield* named(caller, given.sandboxId, given.operationId)
        const operation = yield* waited(caller, first, given.waitSeconds ?? waitDefaultSeconds, from)
        const limit = given.maxOutputBytes ?? outputDefaultBytes
        return yield* written(caller, operation, {
          stdout: { offset: from.stdout, limit, isTail: false },
          stderr: { offset: from.stderr, limit, isTail: false }
        })
      })
    }),

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
  ]
  return tools
})
