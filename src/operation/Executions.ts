/**
 * Synchronous commands: run in the guest, answered with the first bytes of each stream, and recorded for logs and analytics.
 *
 * Only the log of an execute outlives it: at its time-out, or when its caller disconnects, its whole process tree is ended.
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
import { ExecutionLog } from "../store/ExecutionLog.ts"
import { Output } from "../store/Output.ts"
import type { OutputChunk } from "../store/OutputChunk.ts"
import { OutputSplit, openCharacter } from "./OutputSplit.ts"
import { outOfMemory } from "./outOfMemory.ts"

/** Extra time beyond the command's time-out, for the guest to end the tree and report it, or to report that it could not. */
const answerSlackMs = 15_000
/** Larger output is stored before the response, so that many large responses do not accumulate behind it. */
const storeLaterMaxBytes = 64 * 1024
/** Output of a Sandbox that exceeds its rate by more than this is also stored before the response: its callers wait. */
const storeLaterMaxMs = 1000

export interface Execution {
  readonly accountId: string
  readonly sandboxId: string
  readonly generation: number
  /** The Sandbox's variables for every command. */
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
    case "SHELL_MISSING":
      return issue("argv")
    case "TOO_MANY_PROCESSES":
      return new SandboxUnavailable({ message: refused.message, details: { status: "running" } })
  }
}

/** The first bytes of one stream in the response's encoding, without an incomplete last character. */
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

        // The wall clock may have been set meanwhile.
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
        // Only this call writes to this owner: an Overtaken comes from its own first try, whose answer was lost.
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
