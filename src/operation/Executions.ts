/**
 * Synchronous commands: run in the guest, answered with the first bytes of each stream, noted for logs and analytics.
 *
 * Nothing of an execute outlives it but its log: when its time is over or its caller goes away, the whole tree is ended.
 *
 * @source contract-details.md ExecuteRequest, ExecutionResult, "Fine print"
 */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, FiberSet, Layer, Option } from "effect"
import { ExecutionTimeout, InvalidRequest, SandboxUnavailable } from "../../schemas/Errors.ts"
import type { ExecuteRequest, ExecutionResult } from "../../schemas/Execute.ts"
import { executeStreamMaxBytes } from "../../schemas/Limits.ts"
import { millisecondsOf } from "../../schemas/Seconds.ts"
import { EXECUTE_WAIT_MAX_MS, type OutputStream, type SpawnRefused } from "../runtime/Guest.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { guestChange, unanswered } from "../sandbox/GuestChange.ts"
import { Output } from "../store/Output.ts"
import type { OutputChunk } from "../store/OutputChunk.ts"
import { ExecutionLog } from "./ExecutionLog.ts"
import { OutputSplit, openCharacter } from "./OutputSplit.ts"
import { outOfMemory } from "./outOfMemory.ts"

/** Beyond the command's own time-out, for the guest to end the tree and say so, and for itself to say that it did not. */
const answerSlackMs = 15_000
/** More than this is stored before the answer, so that many large answers do not pile up behind it. */
const storeLaterMaxBytes = 64 * 1024
/** So is all of a Sandbox that is further beyond its rate than this: its callers are held back then. */
const storeLaterMaxMs = 1000

export interface Execution {
  readonly accountId: string
  readonly sandboxId: string
  readonly generation: number
  /** What the Sandbox gives to every command. */
  readonly env: Readonly<Record<string, string>>
  readonly request: ExecuteRequest
}

const refusal = (refused: SpawnRefused) => {
  const issue = (field: string) =>
    new InvalidRequest({ details: { issues: [{ path: [field], message: refused.message }] } })
  switch (refused.code) {
    case "CWD_NOT_FOUND":
    case "CWD_NOT_A_DIRECTORY":
      return issue("cwd")
    case "ARGUMENTS_TOO_LONG":
      return issue("argv")
    case "TOO_MANY_PROCESSES":
      return new SandboxUnavailable({ message: refused.message, details: { status: "running" } })
  }
}

/** The first bytes of one stream as the answer carries them; a character that is cut off is left out. */
const headText = (head: Uint8Array, encoding: "utf8" | "base64", isTruncated: boolean) => {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (encoding === "base64") return bytes.toString("base64")
  return bytes.toString("utf8", 0, bytes.length - (isTruncated ? openCharacter(bytes) : 0))
}

const nothing = new Uint8Array(0)

export class Executions extends Context.Service<
  Executions,
  {
    readonly run: (
      execution: Execution
    ) => Effect.Effect<ExecutionResult, ExecutionTimeout | InvalidRequest | SandboxUnavailable>
  }
>()("atoll/operation/Executions") {
  static readonly layer = Layer.effect(
    Executions,
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const output = yield* Output
      const log = yield* ExecutionLog
      const later = yield* FiberSet.makeRuntime()

      const run = Effect.fn("Executions.run")(function* (execution: Execution) {
        const { sandboxId, generation, request } = execution
        const id = `exe_${randomBytes(16).toString("hex")}`
        const guest = yield* runtime.guest(sandboxId, generation).pipe(Effect.mapError(unanswered))
        const timeoutMs = millisecondsOf(request.timeoutSeconds)
        const clock = yield* Clock.Clock
        const startedAt = clock.currentTimeMillisUnsafe()
        const begun = clock.monotonicTimeNanosUnsafe()
        const ended = yield* guest.processes
          .execute(id, {
            argv: request.argv,
            cwd: request.cwd,
            env: { ...execution.env, ...request.env },
            stdin: request.stdin === null ? null : Buffer.from(request.stdin, request.encoding),
            timeoutMs,
            output: { mode: "head", bytes: executeStreamMaxBytes }
          })
          .pipe(
            Effect.timeoutOption(EXECUTE_WAIT_MAX_MS + timeoutMs + answerSlackMs),
            Effect.catchTag("SpawnRefused", (refused) => Effect.fail(refusal(refused))),
            guestChange
          )
        const end = Option.getOrNull(ended)

        // The time of day may have been set meanwhile.
        const finishedAt = startedAt + Number((clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000n)
        const stdout = end?.stdout ?? nothing
        const stderr = end?.stderr ?? nothing
        const stdoutTruncated = end !== null && end.stdoutBytes > stdout.length
        const stderrTruncated = end !== null && end.stderrBytes > stderr.length
        const result: ExecutionResult = {
          exitCode: end?.exitCode ?? null,
          signal: end?.signal ?? null,
          reason: end?.outOfMemory ? outOfMemory : null,
          stdout: headText(stdout, request.encoding, stdoutTruncated),
          stderr: headText(stderr, request.encoding, stderrTruncated),
          stdoutTruncated,
          stderrTruncated,
          encoding: request.encoding,
          startedAt: new Date(startedAt).toISOString(),
          finishedAt: new Date(finishedAt).toISOString(),
          durationMs: finishedAt - startedAt
        }
        const chunksOf = (stream: OutputStream, bytes: Uint8Array) =>
          new OutputSplit(0)
            .take([{ offset: 0, bytes }], true)
            .map(
              (piece): OutputChunk => ({ ownerId: id, stream, sandboxId, source: "execute", at: finishedAt, ...piece })
            )
        const chunks = [...chunksOf("stdout", stdout), ...chunksOf("stderr", stderr)]
        const timedOut = end === null || end.timedOut
        log.note({
          id,
          accountId: execution.accountId,
          sandboxId,
          generation,
          startedAt,
          finishedAt,
          exitCode: result.exitCode,
          timedOut
        })
        // Nobody else knows this owner: what overtook it is its own first try, whose answer was lost.
        const store = (waits: boolean) =>
          Effect.catchTag(output.append(chunks, { waits }), "Overtaken", () => Effect.void)
        if (chunks.length > 0) {
          const isLarge = stdout.length + stderr.length > storeLaterMaxBytes
          if (isLarge || (yield* output.heldBackMs(sandboxId)) > storeLaterMaxMs) yield* store(true)
          else later(store(false))
        }
        if (timedOut) return yield* new ExecutionTimeout({ details: result })
        return result
      })

      return Executions.of({ run })
    })
  )
}
