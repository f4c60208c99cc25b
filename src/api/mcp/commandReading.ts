/** Reads the output of a command for a model: as text, with offsets to continue from and a note on the next step. */
import { Clock, Effect, Schema } from "effect"
import { operationMachine } from "../../../machines/operation.ts"
import { NotFound } from "../../../schemas/Errors.ts"
import { OperationId, SandboxId } from "../../../schemas/Identifiers.ts"
import { Operation, type OutputStream } from "../../../schemas/Operation.ts"
import { taggedStates } from "../../engine/taggedStates.ts"
import type { Operations } from "../../operation/Operations.ts"
import { openCharacter } from "../../operation/OutputSplit.ts"
import { headOfNone, textOf } from "./guestText.ts"
import type { ToolCaller } from "./Tool.ts"

const terminalStates = taggedStates(operationMachine, "terminal")
export const isOver = ({ status }: Operation): boolean => terminalStates.includes(status)

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

export const Outcome = Schema.Struct({ ...outcomeFields, note })
export const Written = Schema.Struct({ ...outcomeFields, stdout: Text("stdout"), stderr: Text("stderr"), note })

export const outcomeOf = (operation: Operation) => ({
  operationId: operation.id,
  sandboxId: operation.sandboxId,
  status: operation.status,
  exitCode: operation.exitCode,
  signal: operation.signal,
  reason: operation.reason
})

export const elapsedSeconds = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n) / 1000)

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

export const tailOf = (totalBytes: number, limit: number): Range => ({
  offset: Math.max(0, totalBytes - limit),
  limit,
  isTail: true
})

const told = ({ isKept: _, ...piece }: Read) => piece

/** The tool that reads on. */
type Reader = "output" | "build_output"

const before = (stream: OutputStream, { offset, isKept }: Read, reader: Reader): string =>
  isKept
    ? `The first ${offset} bytes of ${stream} are left out: call ${reader} with ${stream}Offset 0 to read them.`
    : `Bytes of ${stream} before ${offset} are not kept any more.`

const noteOf = (operation: Operation, read: Readonly<Record<OutputStream, Read>>, reader: Reader): string | null => {
  const { stdout, stderr } = read
  const parts = (["stdout", "stderr"] as const).flatMap((stream) => {
    const { truncated, nextOffset, eof } = read[stream]
    return [
      ...(truncated ? [before(stream, read[stream], reader)] : []),
      ...(isOver(operation) && !eof
        ? [`There may be more of ${stream}: call ${reader} with ${stream}Offset ${nextOffset}.`]
        : [])
    ]
  })
  if (!isOver(operation)) {
    parts.push(
      `The command has not ended: call ${reader} with stdoutOffset ${stdout.nextOffset} and stderrOffset ${stderr.nextOffset} to wait for more, or cancel.`
    )
  }
  return parts.length === 0 ? null : parts.join(" ")
}

/** Waits until the command has ended, or has written beyond the offsets, up to the given time. Returns immediately when the service stops. */
export const waited = Effect.fnUntraced(function* (
  operations: Operations["Service"],
  { accountId }: ToolCaller,
  first: Operation,
  seconds: number,
  beyond: Offsets | null
) {
  const until = (yield* elapsedSeconds) + seconds
  let operation = first
  while (!isOver(operation)) {
    const hasMore =
      beyond !== null && (operation.output.stdoutBytes > beyond.stdout || operation.output.stderrBytes > beyond.stderr)
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
  operations: Operations["Service"],
  { accountId }: ToolCaller,
  { id, sandboxId, output }: Operation,
  stream: OutputStream,
  { offset, limit, isTail }: Range
) {
  const chunk = yield* operations.output(accountId, sandboxId, id, { stream, offset, limit })
  const bytes = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset, chunk.bytes.length)
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

export const written = Effect.fnUntraced(function* (
  operations: Operations["Service"],
  caller: ToolCaller,
  operation: Operation,
  ranges: Readonly<Record<OutputStream, Range>>,
  reader: Reader = "output"
) {
  const stdout = yield* read(operations, caller, operation, "stdout", ranges.stdout)
  const stderr = yield* read(operations, caller, operation, "stderr", ranges.stderr)
  const hasEndedSince = !isOver(operation) && (stdout.eof || stderr.eof)
  const latest = hasEndedSince ? yield* operations.get(caller.accountId, operation.sandboxId, operation.id) : operation
  return {
    ...outcomeOf(latest),
    stdout: told(stdout),
    stderr: told(stderr),
    note: noteOf(latest, { stdout, stderr }, reader)
  }
})

export const named = Effect.fnUntraced(function* (
  operations: Operations["Service"],
  { accountId }: ToolCaller,
  sandboxId: string,
  operationId: string | undefined
) {
  if (operationId !== undefined) return yield* operations.get(accountId, sandboxId, operationId)
  const [newest] = (yield* operations.list(accountId, sandboxId, { limit: 1, cursor: null })).operations
  return newest ?? (yield* new NotFound({ message: "No command was run in this Sandbox yet." }))
})
