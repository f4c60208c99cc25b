/**
 * `GuestProcesses` over HTTP/2. Every body is JSON; `execute`, `run` and `output` answer process frames.
 *
 *     POST /v1/processes              {key, ...CommandSpec}                     -> 200 {}, once it has started; it leaves the queue when the stream ends
 *     POST /v1/processes/execute      {key, ...CommandSpec}                     -> 200 frames from offset 0, once it has started; forgotten, and ended, when the stream ends
 *     POST /v1/processes/run          {key, ...CommandSpec}                     -> 200 frames from offset 0
 *     GET  /v1/processes/output       ?key=&stdout=&stderr=                     -> 200 frames
 *     POST /v1/processes/acknowledge  {key, stdoutOffset, stderrOffset}         -> 200 {}
 *     POST /v1/processes/kill         {key, graceMs}                            -> 200 {}
 *     POST /v1/processes/forget       {key}                                     -> 200 {}
 *     GET  /v1/processes/every        every process of the user               -> 200 {processes, truncated}
 *     POST /v1/processes/end          {pid, startTicks, graceMs}                -> 200 {}
 *     GET  /v1/processes              -> 200 {processes: [{key, running}]}
 */
import { answerJson, Refusal, type Routes, readJson, readWanted } from "../routes.ts"
import { RUNNING_MAX } from "../wire.ts"
import type { CommandProcess } from "./CommandProcess.ts"
import type { CommandSpec } from "./CommandSpec.ts"
import { endOneProcess, listEveryProcess } from "./everyProcess.ts"
import { writeFrames } from "./frameWriter.ts"
import type { ProcessTable } from "./ProcessTable.ts"
import type { ProcessTrees } from "./ProcessTree.ts"

/** The user of the commands, and how the agent's own processes are told from theirs. */
export interface CommandUser {
  readonly uid: number
  readonly trees: Pick<ProcessTrees, "own" | "nameOf">
}

const PID_MAX = 2 ** 22
const OUTPUT_MAX_BYTES = 64 * 1024 ** 2
const WAIT_MAX_MS = 600_000
const TIMEOUT_MAX_MS = 7 * 24 * 3_600_000

export const processRoutes = (table: ProcessTable, user: CommandUser): Routes => ({
  "POST /v1/processes": async (stream) => {
    const body = await readWanted(stream)
    if (body === null) return
    await table.start(text(body, "key"), commandSpec(body), (leave) => stream.once("close", leave))
    answerJson(stream, 200, {})
  },
  "POST /v1/processes/execute": async (stream) => {
    const body = await readWanted(stream)
    if (body === null) return
    const key = text(body, "key")
    const forget = () => table.forget(key)
    stream.once("close", forget)
    writeFrames(stream, await startNew(table, key, { ...commandSpec(body), unwaited: true }), {
      stdoutOffset: 0,
      stderrOffset: 0
    })
    if (stream.destroyed) forget()
  },
  "POST /v1/processes/run": async (stream) => {
    const body = await readWanted(stream)
    if (body === null) return
    writeFrames(stream, await startNew(table, text(body, "key"), commandSpec(body)), {
      stdoutOffset: 0,
      stderrOffset: 0
    })
  },
  "GET /v1/processes/output": (stream, _headers, url) => {
    const command = table.get(url.searchParams.get("key") ?? "")
    writeFrames(stream, command, {
      stdoutOffset: integer(Number(url.searchParams.get("stdout")), "stdout", Number.MAX_SAFE_INTEGER),
      stderrOffset: integer(Number(url.searchParams.get("stderr")), "stderr", Number.MAX_SAFE_INTEGER)
    })
  },
  "POST /v1/processes/acknowledge": async (stream) => {
    const body = await readJson(stream)
    table.acknowledge(text(body, "key"), {
      stdoutOffset: integer(body["stdoutOffset"], "stdoutOffset", Number.MAX_SAFE_INTEGER),
      stderrOffset: integer(body["stderrOffset"], "stderrOffset", Number.MAX_SAFE_INTEGER)
    })
    answerJson(stream, 200, {})
  },
  "POST /v1/processes/kill": async (stream) => {
    const body = await readJson(stream)
    await table.kill(text(body, "key"), integer(body["graceMs"], "graceMs", TIMEOUT_MAX_MS))
    answerJson(stream, 200, {})
  },
  "POST /v1/processes/forget": async (stream) => {
    table.forget(text(await readJson(stream), "key"))
    answerJson(stream, 200, {})
  },
  "GET /v1/processes/every": (stream) => {
    const keys = table.keysOfTrees()
    const commandOf = (pid: number) => keys.get(user.trees.nameOf(pid) ?? "") ?? null
    answerJson(stream, 200, listEveryProcess(user.uid, user.trees.own, commandOf))
  },
  "POST /v1/processes/end": async (stream) => {
    const body = await readJson(stream)
    const named = {
      pid: integer(body["pid"], "pid", PID_MAX),
      startTicks: integer(body["startTicks"], "startTicks", Number.MAX_SAFE_INTEGER),
      graceMs: integer(body["graceMs"], "graceMs", TIMEOUT_MAX_MS),
      uid: user.uid
    }
    if (!endOneProcess(named, user.trees.own)) throw new Refusal(404, "PROCESS_UNKNOWN", "No such process")
    answerJson(stream, 200, {})
  },
  "GET /v1/processes": (stream) => answerJson(stream, 200, { processes: table.list() })
})

const startNew = async (table: ProcessTable, key: string, spec: CommandSpec): Promise<CommandProcess> => {
  const command = await table.start(key, spec)
  if (command === null) throw new Refusal(404, "PROCESS_UNKNOWN", "It was ended before")
  return command
}

const invalid = (field: string) => new Refusal(400, "INVALID_REQUEST", `${field} is not valid`)

const text = (body: Record<string, unknown>, field: string): string => {
  const value = body[field]
  if (typeof value !== "string" || value === "") throw invalid(field)
  return value
}

const integer = (value: unknown, field: string, max: number): number => {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || value > max) throw invalid(field)
  return value
}

/** A string that the kernel accepts: without NUL, at which it would end. */
const isArgument = (value: unknown): value is string => typeof value === "string" && !value.includes("\0")

export const commandSpec = (body: Record<string, unknown>): CommandSpec => {
  const { argv, env, stdin, timeoutMs, output, turnsMax, waitMs } = body
  if (!Array.isArray(argv) || !argv.every(isArgument) || !argv[0]) throw invalid("argv")
  const cwd = text(body, "cwd")
  if (!isArgument(cwd) || !cwd.startsWith("/")) throw invalid("cwd")
  if (typeof env !== "object" || env === null || !Object.entries(env).flat().every(isArgument)) throw invalid("env")
  if (stdin !== null && typeof stdin !== "string") throw invalid("stdin")
  if (typeof output !== "object" || output === null) throw invalid("output")
  const { mode, bytes } = output as Record<string, unknown>
  if (mode !== "window" && mode !== "head") throw invalid("output.mode")
  return {
    argv,
    cwd,
    env: env as Record<string, string>,
    stdin: stdin === null ? null : Buffer.from(stdin, "base64"),
    timeoutMs: timeoutMs === null ? null : integer(timeoutMs, "timeoutMs", TIMEOUT_MAX_MS),
    output: { mode, bytes: integer(bytes, "output.bytes", OUTPUT_MAX_BYTES) },
    ...(turnsMax === undefined ? {} : { turnsMax: integer(turnsMax, "turnsMax", RUNNING_MAX) }),
    ...(waitMs === undefined ? {} : { waitMs: integer(waitMs, "waitMs", WAIT_MAX_MS) })
  }
}
