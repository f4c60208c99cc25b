/** `GuestProcesses` over an AgentSession. Every frame and answer of the agent is decoded and checked before it is passed on. */
import type { Readable, Writable } from "node:stream"
import { Cause, Effect, Option, Schema, Stream } from "effect"
import {
  FRAME_PAYLOAD_MAX_BYTES,
  FrameDecoder,
  FrameType,
  frameHead,
  jsonFrame,
  type RawFrame
} from "../../agent/processes/processFrames.ts"
import {
  type Executed,
  type GuestProcesses,
  GuestUnavailable,
  type OutputStream,
  type ProcessFrame,
  type ProcessSpec,
  ProcessUnknown,
  SpawnRefused
} from "../Guest.ts"
import { type AgentAnswer, type AgentRequest, type AgentSession, readAnswer } from "./AgentSession.ts"
import { byteReader } from "./byteReader.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const Exited = Schema.Struct({
  exitCode: Schema.NullOr(Count),
  signal: Schema.NullOr(Schema.String.check(Schema.isPattern(/^SIG[A-Z0-9]{1,16}$/))),
  timedOut: Schema.Boolean,
  startedAt: Count,
  finishedAt: Count,
  stdoutBytes: Count,
  stderrBytes: Count
})

const Settled = Schema.Struct({ processTree: Schema.Literals(["running", "gone", "unconfirmed"]) })

const Failure = Schema.Struct({ code: Schema.String, message: Schema.String })

const Listed = Schema.Struct({
  processes: Schema.Array(Schema.Struct({ key: Schema.String, running: Schema.Boolean }))
})

const decodeExited = Schema.decodeUnknownOption(Exited)
const decodeSettled = Schema.decodeUnknownOption(Settled)
const decodeFailure = Schema.decodeUnknownOption(Failure)
const decodeListed = Schema.decodeUnknownOption(Listed)

const nonsense = () => new GuestUnavailable({ message: "The Sandbox's agent broke its protocol" })

/** The agent's refusals as the interface's errors; what fits none is the agent's own failure. */
const refusal = ({ status, body }: AgentAnswer, key: string): SpawnRefused | ProcessUnknown | GuestUnavailable => {
  const failure = Option.getOrNull(decodeFailure(body))
  if (failure === null) return nonsense()
  switch (failure.code) {
    case "CWD_NOT_FOUND":
    case "CWD_NOT_A_DIRECTORY":
    case "TOO_MANY_PROCESSES":
    case "ARGUMENTS_TOO_LONG":
      return new SpawnRefused({ code: failure.code, message: failure.message.slice(0, 1_000) })
    case "PROCESS_UNKNOWN":
      return new ProcessUnknown({ key })
    default:
      return new GuestUnavailable({ message: `The Sandbox's agent answered ${status} ${failure.code.slice(0, 100)}` })
  }
}

const specBody = (key: string, spec: ProcessSpec) => ({
  key,
  argv: spec.argv,
  cwd: spec.cwd,
  env: spec.env,
  stdin: spec.stdin === null ? null : Buffer.from(spec.stdin).toString("base64"),
  timeoutMs: spec.timeoutMs,
  output: spec.output
})

export const makeAgentProcesses = (session: AgentSession): GuestProcesses => {
  const call = (
    path: string,
    key: string,
    body: Readonly<Record<string, unknown>>
  ): Effect.Effect<void, SpawnRefused | ProcessUnknown | GuestUnavailable> =>
    Effect.flatMap(session.call("POST", path, { key, ...body }), (answer) =>
      answer.status === 200 ? Effect.void : Effect.fail(refusal(answer, key))
    )

  const frames = (
    key: string,
    from: Offsets,
    request: AgentRequest
  ): Stream.Stream<ProcessFrame, SpawnRefused | ProcessUnknown | GuestUnavailable> =>
    Stream.scoped(
      Stream.fromPull(
        Effect.gen(function* () {
          const { status, stream } = yield* session.request(request)
          if (status !== 200) {
            const body = yield* readAnswer(stream)
            return yield* Effect.fail(refusal({ status, body }, key))
          }
          return frameReader(yield* byteReader(stream), from)
        })
      )
    )

  const execute: GuestProcesses["execute"] = (key, spec) =>
    Effect.scoped(
      Effect.gen(function* () {
        const body = Buffer.from(JSON.stringify(specBody(key, spec)))
        const { status, stream } = yield* session.request({ method: "POST", path: "/v1/processes/execute", body })
        if (status === 200) return yield* collect(stream, spec.output.bytes)
        const fault = refusal({ status, body: yield* readAnswer(stream) }, key)
        return yield* fault._tag === "ProcessUnknown" ? nonsense() : fault
      })
    )

  const open: GuestProcesses["open"] = Effect.fnUntraced(function* (spec) {
    const { stream, head } = yield* session.open({ method: "POST", path: "/v1/processes/channel", body: "open" })
    const control = (message: Readonly<Record<string, unknown>>) =>
      Effect.sync(() => {
        if (stream.writable) stream.write(jsonFrame(FrameType.exited, message))
      })
    yield* control({ type: "start", key: "channel", ...spec })
    const { status } = yield* head
    if (status !== 200) {
      const fault = refusal({ status, body: yield* readAnswer(stream) }, "channel")
      return yield* fault._tag === "ProcessUnknown" ? nonsense() : fault
    }
    const frames = frameReader(yield* byteReader(stream), FROM_THE_START)
    return {
      frames: Stream.fromPull(Effect.succeed(frames)),
      write: (bytes) => writeInput(stream, bytes),
      end: control({ type: "end" }),
      resize: (size) => control({ type: "resize", ...size }),
      signal: (signal) => control({ type: "signal", signal })
    }
  })

  return {
    open,
    start: (key, spec) =>
      call("/v1/processes", key, specBody(key, spec)).pipe(
        Effect.catchTag("ProcessUnknown", () => Effect.fail(nonsense()))
      ),
    execute,
    run: (key, spec) =>
      frames(key, FROM_THE_START, {
        method: "POST",
        path: "/v1/processes/run",
        body: Buffer.from(JSON.stringify(specBody(key, spec)))
      }).pipe(Stream.catchTag("ProcessUnknown", () => Stream.fail(nonsense()))),
    attach: (key, from) =>
      frames(key, from, {
        method: "GET",
        path: `/v1/processes/output?key=${encodeURIComponent(key)}&stdout=${from.stdoutOffset}&stderr=${from.stderrOffset}`
      }).pipe(Stream.catchTag("SpawnRefused", () => Stream.fail(nonsense()))),
    acknowledge: (key, upTo) =>
      call("/v1/processes/acknowledge", key, upTo).pipe(Effect.catchTag("SpawnRefused", () => Effect.fail(nonsense()))),
    kill: (key, options) =>
      call("/v1/processes/kill", key, options).pipe(Effect.catchTag("SpawnRefused", () => Effect.fail(nonsense()))),
    forget: (key) =>
      call("/v1/processes/forget", key, {}).pipe(
        Effect.catchTag(["SpawnRefused", "ProcessUnknown"], () => Effect.fail(nonsense()))
      ),
    list: Effect.flatMap(session.call("GET", "/v1/processes"), ({ status, body }) => {
      const listed = status === 200 ? Option.getOrNull(decodeListed(body)) : null
      return listed === null ? Effect.fail(nonsense()) : Effect.succeed(listed.processes)
    })
  }
}

/** Resolves when the stream has room again. */
const writeInput = (stream: Writable, bytes: Uint8Array): Effect.Effect<void, GuestUnavailable> =>
  Effect.callback((resume) => {
    const closed = () => resume(Effect.fail(new GuestUnavailable({ message: "The command's connection is closed." })))
    if (!stream.writable) return closed()
    let hasRoom = true
    for (let at = 0; at < bytes.length; at += FRAME_PAYLOAD_MAX_BYTES) {
      const part = bytes.subarray(at, at + FRAME_PAYLOAD_MAX_BYTES)
      stream.cork()
      stream.write(frameHead(FrameType.stdout, 0, part.length))
      hasRoom = stream.write(part)
      stream.uncork()
    }
    if (hasRoom) return resume(Effect.void)
    const drained = () => {
      stream.off("close", closed)
      resume(Effect.void)
    }
    stream.once("drain", drained).once("close", closed)
    return Effect.sync(() => void stream.off("drain", drained).off("close", closed))
  })

type Bytes = Effect.Effect<[Uint8Array, ...Array<Uint8Array>], GuestUnavailable | Cause.Done>

interface Offsets {
  readonly stdoutOffset: number
  readonly stderrOffset: number
}

const FROM_THE_START: Offsets = { stdoutOffset: 0, stderrOffset: 0 }

/** Holds the agent to its word: offsets follow each other from the one asked for or later, and nothing follows `settled`. */
class FrameOrder {
  complete = false
  private exited = false
  private readonly next: { stdout: number; stderr: number }
  private readonly begun = { stdout: false, stderr: false }

  constructor(from: Offsets) {
    this.next = { stdout: from.stdoutOffset, stderr: from.stderrOffset }
  }

  accepts(frame: ProcessFrame): boolean {
    if (this.complete) return false
    switch (frame.type) {
      case "output": {
        const { stream, offset } = frame
        // Only the first may skip what is no longer kept.
        const follows = this.begun[stream] ? offset === this.next[stream] : offset >= this.next[stream]
        this.begun[stream] = true
        this.next[stream] = offset + frame.bytes.length
        return follows && !this.exited
      }
      case "exited": {
        const first = !this.exited
        this.exited = true
        return (
          first &&
          (["stdout", "stderr"] as const).every((it) => !this.begun[it] || frame[`${it}Bytes`] >= this.next[it])
        )
      }
      case "settled":
        this.complete = true
        return this.exited
    }
  }
}

/** All frames of a command at once: its first bytes and its end. More bytes than were asked for break the protocol. */
const collect = (readable: Readable, headBytes: number): Effect.Effect<Executed, GuestUnavailable> =>
  Effect.callback((resume) => {
    const decoder = new FrameDecoder()
    const order = new FrameOrder(FROM_THE_START)
    const parts: Record<OutputStream, Array<Uint8Array>> = { stdout: [], stderr: [] }
    const sizes: Record<OutputStream, number> = { stdout: 0, stderr: 0 }
    let exited: Extract<ProcessFrame, { readonly type: "exited" }> | null = null
    const stop = () => void readable.off("data", onData).off("end", onEnd).off("close", onClose)
    const fail = (fault: GuestUnavailable) => {
      stop()
      resume(Effect.fail(fault))
    }
    const take = (raw: RawFrame): boolean => {
      const frame = decodeFrame(raw)
      if (frame === null || !order.accepts(frame)) return false
      if (frame.type === "exited") exited = frame
      if (frame.type !== "output") return true
      parts[frame.stream].push(frame.bytes)
      sizes[frame.stream] += frame.bytes.length
      return sizes[frame.stream] <= headBytes
    }
    const onData = (chunk: Uint8Array) => {
      try {
        if (!decoder.push(chunk).every(take)) fail(nonsense())
      } catch {
        fail(nonsense())
      }
    }
    const onEnd = () => {
      if (exited === null || !order.complete || !decoder.atBoundary) return fail(nonsense())
      stop()
      const { type: _type, ...end } = exited
      resume(Effect.succeed({ ...end, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) }))
    }
    const onClose = () => fail(new GuestUnavailable({ message: "The Sandbox's agent broke off a stream" }))
    readable.on("data", onData).on("end", onEnd).on("close", onClose)
    if (readable.destroyed) onClose()
    return Effect.sync(stop)
  })

/** Turns bytes into frames; the stream is complete only if its last frame was `settled`. */
const frameReader = (
  bytes: Bytes,
  from: Offsets
): Effect.Effect<[ProcessFrame, ...Array<ProcessFrame>], GuestUnavailable | Cause.Done> => {
  const decoder = new FrameDecoder()
  const order = new FrameOrder(from)
  const pull: ReturnType<typeof frameReader> = bytes.pipe(
    Effect.catchIf(Cause.isDone, (done) => Effect.fail(order.complete && decoder.atBoundary ? done : nonsense())),
    Effect.flatMap((chunks) => {
      const decoded: Array<ProcessFrame> = []
      try {
        for (const chunk of chunks) {
          for (const raw of decoder.push(chunk)) {
            const frame = decodeFrame(raw)
            if (frame === null || !order.accepts(frame)) return Effect.fail(nonsense())
            decoded.push(frame)
          }
        }
      } catch {
        return Effect.fail(nonsense())
      }
      const [first, ...rest] = decoded
      return first === undefined ? pull : Effect.succeed<[ProcessFrame, ...Array<ProcessFrame>]>([first, ...rest])
    })
  )
  return pull
}

const decodeFrame = (raw: RawFrame): ProcessFrame | null => {
  switch (raw.type) {
    case FrameType.stdout:
      return { type: "output", stream: "stdout", offset: raw.offset, bytes: raw.payload }
    case FrameType.stderr:
      return { type: "output", stream: "stderr", offset: raw.offset, bytes: raw.payload }
    case FrameType.exited: {
      const exited = Option.getOrNull(decodeExited(parse(raw.payload)))
      return exited === null ? null : { type: "exited", ...exited }
    }
    default: {
      const settled = Option.getOrNull(decodeSettled(parse(raw.payload)))
      return settled === null ? null : { type: "settled", ...settled }
    }
  }
}

const parse = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString("utf8"))
