/**
 * Synchronous commands: run in the guest, answered with the first bytes of each stream, noted for logs and analytics.
 *
 * Nothing of an execute outlives it but its log: when its time is over or its caller goes away, the whole tree is ended.
 *
 * @source contract-details.md ExecuteRequest, ExecutionResult, "Fine print"
 */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, FiberSet, Layer, Option, Stream } from "effect"
import { SqlClient } from "effect/unstable/sql"
import { ExecutionTimeout, InvalidRequest, SandboxUnavailable } from "../../schemas/Errors.ts"
import type { ExecuteRequest, ExecutionResult } from "../../schemas/Execute.ts"
import { executeStreamMaxBytes } from "../../schemas/Limits.ts"
import type { Guest, OutputStream, ProcessFrame, SpawnRefused } from "../runtime/Guest.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Output, type OutputChunk } from "../store/Output.ts"
import { OutputSplit, openCharacter } from "./OutputSplit.ts"

const graceMs = 2000
/** Beyond the command's own time-out, for the guest to end the tree and say so. */
const answerSlackMs = 10_000
/** More than this is stored before the answer, so that many large answers do not pile up behind it. */
const storeLaterMaxBytes = 64 * 1024

export interface Execution {
  readonly accountId: string
  readonly sandboxId: string
  readonly generation: number
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

/** What one stream gave: its first bytes, and how much there was. */
class Head {
  readonly parts: Array<Uint8Array> = []
  bytes = 0

  push(part: Uint8Array) {
    this.parts.push(part)
    this.bytes += part.length
  }

  text(encoding: "utf8" | "base64", isTruncated: boolean) {
    const whole = Buffer.concat(this.parts)
    if (encoding === "base64") return whole.toString("base64")
    return whole.toString("utf8", 0, whole.length - (isTruncated ? openCharacter(whole) : 0))
  }
}

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
      const sql = yield* SqlClient.SqlClient
      const later = yield* FiberSet.makeRuntime()
      const gone = () => new SandboxUnavailable({ details: { status: null } })

      const note = (
        id: string,
        { accountId, sandboxId, generation }: Execution,
        result: ExecutionResult,
        timedOut: boolean
      ) =>
        sql`
          insert into executions (id, account_id, sandbox_id, generation, started_at, finished_at, exit_code, timed_out)
          values (${id}, ${accountId}, ${sandboxId}, ${generation}, ${BigInt(Date.parse(result.startedAt))},
                  ${BigInt(Date.parse(result.finishedAt))}, ${result.exitCode}, ${timedOut})`.pipe(
          Effect.catchCause((cause) => Effect.logError("An execute could not be noted", cause))
        )

      const run = Effect.fn("Executions.run")(function* (execution: Execution) {
        const { sandboxId, generation, request } = execution
        const id = `exe_${randomBytes(16).toString("hex")}`
        const guest: Guest = yield* runtime.guest(sandboxId, generation).pipe(Effect.mapError(gone))
        const startedAt = yield* Clock.currentTimeMillis
        const heads: Record<OutputStream, Head> = { stdout: new Head(), stderr: new Head() }
        let exited: Extract<ProcessFrame, { readonly type: "exited" }> | null = null

        const follow = guest.processes
          .run(id, {
            argv: request.argv,
            cwd: request.cwd,
            env: request.env,
            stdin: request.stdin === null ? null : Buffer.from(request.stdin, request.encoding),
            timeoutMs: request.timeoutSeconds * 1000,
            output: { mode: "head", bytes: executeStreamMaxBytes }
          })
          .pipe(
            Stream.takeUntil((frame) => frame.type === "exited"),
            Stream.runForEach((frame) =>
              Effect.sync(() => {
                if (frame.type === "output") heads[frame.stream].push(frame.bytes)
                else if (frame.type === "exited") exited = frame
              })
            ),
            Effect.timeoutOption(request.timeoutSeconds * 1000 + answerSlackMs)
          )

        const ended = yield* follow.pipe(
          Effect.onInterrupt(() => Effect.sync(() => later(Effect.ignore(guest.processes.kill(id, { graceMs }))))),
          Effect.catchTag("SpawnRefused", (refused) => Effect.fail(refusal(refused))),
          Effect.catchTag("GuestUnavailable", () => Effect.fail(gone()))
        )
        later(Effect.ignore(guest.processes.forget(id)))
        const end = exited as Extract<ProcessFrame, { readonly type: "exited" }> | null
        if (Option.isNone(ended)) later(Effect.ignore(guest.processes.kill(id, { graceMs })))
        else if (end === null) return yield* gone()

        const finishedAt = yield* Clock.currentTimeMillis
        const isTruncated = (stream: OutputStream) =>
          (end === null ? 0 : stream === "stdout" ? end.stdoutBytes : end.stderrBytes) > heads[stream].bytes
        const result: ExecutionResult = {
          exitCode: end?.exitCode ?? null,
          signal: end?.signal ?? null,
          stdout: heads.stdout.text(request.encoding, isTruncated("stdout")),
          stderr: heads.stderr.text(request.encoding, isTruncated("stderr")),
          stdoutTruncated: isTruncated("stdout"),
          stderrTruncated: isTruncated("stderr"),
          encoding: request.encoding,
          startedAt: new Date(startedAt).toISOString(),
          finishedAt: new Date(finishedAt).toISOString(),
          durationMs: finishedAt - startedAt
        }
        const chunks = (["stdout", "stderr"] as const).flatMap((stream) =>
          new OutputSplit(0)
            .take([{ offset: 0, bytes: Buffer.concat(heads[stream].parts) }], true)
            .map(
              (piece): OutputChunk => ({ ownerId: id, stream, sandboxId, source: "execute", at: finishedAt, ...piece })
            )
        )
        const timedOut = end === null || end.timedOut
        later(note(id, execution, result, timedOut))
        if (heads.stdout.bytes + heads.stderr.bytes > storeLaterMaxBytes) yield* output.append(chunks)
        else if (chunks.length > 0) later(output.append(chunks))
        if (timedOut) return yield* new ExecutionTimeout({ details: result })
        return result
      })

      return Executions.of({ run })
    })
  )
}
