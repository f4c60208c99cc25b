/** `GuestProcesses` over an AgentSession. Every frame and answer of the agent is decoded and checked before it is passed on. */
import type { Readable, Writable } from "node:stream"
import { Cause, Effect, Stream } from "effect"
import {
  FRAME_PAYLOAD_MAX_BYTES,
  FrameDecoder,
  FrameType,
  frameHead,
  jsonFrame,
  type RawFrame
} from "../../agent/processes/processFrames.ts"
import { posixSignal } from "../../agent/processes/signals.ts"
import { EXECUTES_MAX, exitedShape, routes, settledShape } from "../../agent/wire.ts"
import {
  type Executed,
  type GuestProcesses,
  GuestUnavailable,
  type ProcessFrame,
  type ProcessSpec,
  ProcessUnknown,
  SpawnRefused
} from "../Guest.ts"
import type { AgentRequest, AgentSession } from "./AgentSession.ts"
import { answerOf, protocolFault, type RouteRefused, refusalOf, unexpected } from "./answers.ts"
import { byteReader } from "./byteReader.ts"
import { CommandPermits } from "./CommandPermits.ts"
import { heldTo, ProtocolBreach } from "./heldToShape.ts"

const decodeExited = heldTo(exitedShape)
const decodeSettled = heldTo(settledShape)
const decodeListed = heldTo(routes.list.answer.shape)
const decodeEvery = heldTo(routes.every.answer.shape)
const decodeNothing = heldTo(routes.start.answer.shape)

/** How long a call may take in a busy guest that still answers pings. */
const BUSY_MS = 60_000
/** Time beyond a command's own time-out, in which the guest ends the tree and reports it. */
const END_SLACK_MS = 10_000

const STARTS_MAX = 16
const EXECUTES_WAITING_MAX = 1_024
/** Measured from the request, because other services may run commands there too. It ends well before the guest would count as silent. */
const EXECUTE_LINE_MAX_MS = 45_000

type Refused = SpawnRefused | ProcessUnknown | GuestUnavailable

/** The agent's refusals as the interface's errors. */
const faultOf = (refused: RouteRefused, key: string): Refused => {
  switch (refused.code) {
    case "CWD_NOT_FOUND":
    case "CWD_NOT_A_DIRECTORY":
    case "TOO_MANY_PROCESSES":
    case "ARGUMENTS_TOO_LONG":
      return new SpawnRefused({ code: refused.code, message: refused.message })
    case "PROCESS_UNKNOWN":
      return new ProcessUnknown({ key })
    default:
      return unexpected(refused)
  }
}

/** An unknown key where that is no valid answer: the command was ended before it started. */
const neverStarted = () => new GuestUnavailable({ message: "The Sandbox has ended the command before it began" })
const startFault = <E>(fault: E | ProcessUnknown): Exclude<E, ProcessUnknown> | GuestUnavailable =>
  fault instanceof ProcessUnknown ? neverStarted() : (fault as Exclude<E, ProcessUnknown>)
const knownFault = <E>(fault: E | SpawnRefused): Exclude<E, SpawnRefused> | GuestUnavailable =>
  fault instanceof SpawnRefused
    ? protocolFault(new ProtocolBreach("code must be one of the route's"))
    : (fault as Exclude<E, SpawnRefused>)

const specBody = (key: string, spec: ProcessSpec) => ({
  key,
  argv: spec.argv,
  cwd: spec.cwd,
  env: spec.env,
  stdin: spec.stdin === null ? null : Buffer.from(spec.stdin).toString("base64"),
  timeoutMs: spec.timeoutMs,
  output: spec.output,
  ...(spec.turnsMax === undefined ? {} : { turnsMax: spec.turnsMax })
})

export const makeAgentProcesses = (session: AgentSession): GuestProcesses => {
  /** Executes of one Sandbox: the agent lets no more run, those of other services counted, and a machine that starts hundreds at once answers none in time. */
  const running = new CommandPermits(EXECUTES_MAX, EXECUTES_WAITING_MAX)
  const starting = new CommandPermits(STARTS_MAX, EXECUTES_WAITING_MAX)

  const call = (
    route: (typeof routes)["start" | "acknowledge" | "kill" | "forget" | "endOne"],
    key: string,
    body: Readonly<Record<string, unknown>>,
    patienceMs = BUSY_MS
  ): Effect.Effect<void, Refused> =>
    session
      .request({
        method: "POST",
        path: route.path,
        body: Buffer.from(JSON.stringify({ key, ...body })),
        patienceMs
      })
      .pipe(
        Effect.flatMap(({ status, stream }) => answerOf(route, status, stream, decodeNothing)),
        Effect.scoped,
        Effect.catchTag("RouteRefused", (refused) => Effect.fail(faultOf(refused, key))),
        Effect.asVoid,
        session.held
      )

  const frames = (
    route: (typeof routes)["run" | "output"],
    key: string,
    from: Offsets,
    request: AgentRequest
  ): Stream.Stream<ProcessFrame, Refused> =>
    Stream.scoped(
      Stream.fromPull(
        Effect.gen(function* () {
          const { status, stream } = yield* session.request({ ...request, patienceMs: BUSY_MS })
          if (status !== 200) return yield* Effect.fail(faultOf(yield* refusalOf(route, status, stream), key))
          return frameReader(yield* byteReader(stream), from)
        })
      )
    ).pipe(session.heldStream)

  const execute: GuestProcesses["execute"] = (key, spec) => {
    return Effect.gen(function* () {
      const began = performance.now()
      yield* running.take
      const request = Effect.suspend(() => {
        const waitMs = Math.max(0, Math.ceil(EXECUTE_LINE_MAX_MS - (performance.now() - began)))
        return session.request({
          method: "POST",
          path: routes.execute.path,
          body: Buffer.from(JSON.stringify({ ...specBody(key, spec), waitMs })),
          patienceMs: BUSY_MS
        })
      })
      const { status, stream } = yield* starting.within(request)
      if (status === 200)
        return yield* collect(
          stream,
          spec.output.bytes,
          session.within(END_SLACK_MS) + (spec.timeoutMs ?? Number.POSITIVE_INFINITY)
        )
      return yield* Effect.fail(startFault(faultOf(yield* refusalOf(routes.execute, status, stream), key)))
    }).pipe(Effect.scoped, session.held)
  }

  const open: GuestProcesses["open"] = Effect.fnUntraced(function* (spec) {
    const { stream, head } = yield* session.open({
      method: "POST",
      path: routes.channel.path,
      body: "open",
      patienceMs: BUSY_MS
    })
    const control = (message: Readonly<Record<string, unknown>>) =>
      Effect.sync(() => !stream.writable || stream.write(jsonFrame(FrameType.exited, message)))
    yield* control({ type: "start", key: "channel", ...spec })
    const { status } = yield* head
    if (status !== 200) {
      const refused = yield* session.held(refusalOf(routes.channel, status, stream))
      return yield* Effect.fail(startFault(faultOf(refused, "channel")))
    }
    const frames = frameReader(yield* byteReader(stream), FROM_THE_START)
    return {
      frames: session.heldStream(Stream.fromPull(Effect.succeed(frames))),
      write: (bytes) => writeInput(stream, bytes),
      end: Effect.asVoid(control({ type: "end" })),
      resize: ({ columns, rows }) =>
        Effect.flatMap(control({ type: "resize", columns, rows }), (hasRoom) => roomIn(stream, hasRoom)),
      signal: (signal) => Effect.asVoid(control({ type: "signal", signal }))
    }
  })

  return {
    open,
    start: (key, spec) => {
      // It may have to wait for days.
      const patienceMs = spec.turnsMax === undefined ? BUSY_MS : Number.POSITIVE_INFINITY
      return Effect.mapError(call(routes.start, key, specBody(key, spec), patienceMs), startFault)
    },
    execute,
    run: (key, spec) =>
      frames(routes.run, key, FROM_THE_START, {
        method: "POST",
        path: routes.run.path,
        body: Buffer.from(JSON.stringify(specBody(key, spec)))
      }).pipe(Stream.mapError(startFault)),
    attach: (key, from) =>
      frames(routes.output, key, from, {
        method: "GET",
        path: `${routes.output.path}?key=${encodeURIComponent(key)}&stdout=${from.stdoutOffset}&stderr=${from.stderrOffset}`
      }).pipe(Stream.mapError(knownFault)),
    acknowledge: (key, upTo) => Effect.mapError(call(routes.acknowledge, key, { ...upTo }), knownFault),
    kill: (key, options) => Effect.mapError(call(routes.kill, key, options), knownFault),
    forget: (key) => Effect.mapError(call(routes.forget, key, {}), (fault) => startFault(knownFault(fault))),
    every: session.request({ method: "GET", path: routes.every.path, patienceMs: BUSY_MS }).pipe(
      Effect.flatMap(({ status, stream }) => answerOf(routes.every, status, stream, decodeEvery)),
      Effect.scoped,
      Effect.catchTag("RouteRefused", (refused) => Effect.fail(unexpected(refused))),
      session.held
    ),
    endOne: (process, options) =>
      Effect.mapError(call(routes.endOne, `${process.pid}`, { ...process, ...options }), knownFault),
    list: session.request({ method: "GET", path: routes.list.path, patienceMs: BUSY_MS }).pipe(
      Effect.flatMap(({ status, stream }) => answerOf(routes.list, status, stream, decodeListed)),
      Effect.scoped,
      Effect.catchTag("RouteRefused", (refused) => Effect.fail(unexpected(refused))),
      Effect.map(({ processes }) => processes),
      session.held
    )
  }
}

/** Resolves when the stream has room again. */
const writeInput = (stream: Writable, bytes: Uint8Array): Effect.Effect<void, GuestUnavailable> =>
  Effect.callback((resume) => {
    const closed = () =>
      resume(Effect.fail(new GuestUnavailable({ message: "The command's connection is closed.", fault: "lost" })))
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

/** Waits for room, or for the stream's end. */
const roomIn = (stream: Writable, hasRoom: boolean): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (hasRoom || stream.destroyed) return resume(Effect.void)
    const done = () => {
      stream.off("drain", done).off("close", done)
      resume(Effect.void)
    }
    stream.once("drain", done).once("close", done)
    return Effect.sync(() => void stream.off("drain", done).off("close", done))
  })

type Bytes = Effect.Effect<[Uint8Array, ...Array<Uint8Array>], GuestUnavailable | Cause.Done>

interface Offsets {
  readonly stdoutOffset: number
  readonly stderrOffset: number
}

const FROM_THE_START: Offsets = { stdoutOffset: 0, stderrOffset: 0 }

const breach = (rule: string) => new ProtocolBreach(rule)

/** Checks the order of frames: offsets are contiguous from the requested one or a later one, and no frame follows `settled`. */
class FrameOrder {
  complete = false
  private exited = false
  private readonly next: { stdout: number; stderr: number }
  private readonly begun = { stdout: false, stderr: false }

  constructor(from: Offsets) {
    this.next = { stdout: from.stdoutOffset, stderr: from.stderrOffset }
  }

  /** Throws a ProtocolBreach for a frame that must not come now. */
  take(frame: ProcessFrame): void {
    if (this.complete) throw breach("nothing must follow settled")
    switch (frame.type) {
      case "output": {
        const { stream, offset } = frame
        if (this.exited) throw breach("output must come before exited")
        // Only the first frame may skip bytes that are no longer kept.
        const follows = this.begun[stream] ? offset === this.next[stream] : offset >= this.next[stream]
        if (!follows) throw breach("offsets must follow each other")
        this.begun[stream] = true
        this.next[stream] = offset + frame.bytes.length
        return
      }
      case "exited": {
        if (this.exited) throw breach("exited must come once")
        this.exited = true
        const counts = (["stdout", "stderr"] as const).every(
          (it) => !this.begun[it] || frame[`${it}Bytes`] >= this.next[it]
        )
        if (!counts) throw breach("the bytes of a stream must be all that came of it")
        return
      }
      case "settled":
        if (!this.exited) throw breach("settled must come after exited")
        this.complete = true
    }
  }
}

/** The first bytes of one stream, in one buffer, for pieces of any size. */
class Head {
  #bytes: Buffer = Buffer.alloc(0)
  #used = 0
  readonly #maxBytes: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** False when there are more bytes than requested. */
  take(bytes: Uint8Array): boolean {
    const used = this.#used + bytes.length
    if (used > this.#maxBytes) return false
    if (used > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(used, 2 * this.#bytes.length)))
      grown.set(this.bytes)
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#used)
    this.#used = used
    return true
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#used)
  }
}

/** Collects all frames of a command: its first bytes and its end. More bytes than requested break the protocol. */
const collect = (readable: Readable, headBytes: number, timeoutMs: number): Effect.Effect<Executed, GuestUnavailable> =>
  Effect.callback((resume) => {
    const decoder = new FrameDecoder()
    const order = new FrameOrder(FROM_THE_START)
    const heads = { stdout: new Head(headBytes), stderr: new Head(headBytes) }
    let exited: Extract<ProcessFrame, { readonly type: "exited" }> | null = null
    const stop = () => {
      clearTimeout(timer)
      readable.off("data", onData).off("end", onEnd).off("close", onClose)
    }
    const fail = (fault: GuestUnavailable) => {
      stop()
      resume(Effect.fail(fault))
    }
    const onData = (chunk: Uint8Array) => {
      try {
        for (const raw of decoder.push(chunk)) {
          const frame = decodeFrame(raw)
          order.take(frame)
          if (frame.type === "exited") exited = frame
          else if (frame.type === "output" && !heads[frame.stream].take(frame.bytes)) {
            throw breach("the first bytes must be no more than were asked for")
          }
        }
      } catch (cause) {
        fail(protocolFault(cause))
      }
    }
    const onEnd = () => {
      if (exited === null || !order.complete || !decoder.atBoundary) return fail(brokenOff())
      stop()
      const { type: _type, ...end } = exited
      resume(Effect.succeed({ ...end, stdout: heads.stdout.bytes, stderr: heads.stderr.bytes }))
    }
    const onClose = () => fail(brokenOff())
    const onLate = () =>
      fail(new GuestUnavailable({ message: "The Sandbox's agent did not end a command in time", fault: "lost" }))
    const timer = Number.isFinite(timeoutMs) ? setTimeout(onLate, timeoutMs) : undefined
    readable.on("data", onData).on("end", onEnd).on("close", onClose)
    if (readable.destroyed) onClose()
    return Effect.sync(stop)
  })

const brokenOff = () => new GuestUnavailable({ message: "The Sandbox's agent broke off a stream", fault: "lost" })

/** Turns bytes into frames; the stream is complete only if its last frame was `settled`. */
const frameReader = (
  bytes: Bytes,
  from: Offsets
): Effect.Effect<[ProcessFrame, ...Array<ProcessFrame>], GuestUnavailable | Cause.Done> => {
  const decoder = new FrameDecoder()
  const order = new FrameOrder(from)
  const pull: ReturnType<typeof frameReader> = bytes.pipe(
    Effect.catchIf(Cause.isDone, (done) => Effect.fail(order.complete && decoder.atBoundary ? done : brokenOff())),
    Effect.flatMap((chunks) => {
      const decoded: Array<ProcessFrame> = []
      try {
        for (const chunk of chunks) {
          for (const raw of decoder.push(chunk)) {
            const frame = decodeFrame(raw)
            order.take(frame)
            decoded.push(frame)
          }
        }
      } catch (cause) {
        return Effect.fail(protocolFault(cause))
      }
      const [first, ...rest] = decoded
      return first === undefined ? pull : Effect.succeed<[ProcessFrame, ...Array<ProcessFrame>]>([first, ...rest])
    })
  )
  return pull
}

/** Throws a ProtocolBreach, or a SyntaxError for invalid JSON. */
const decodeFrame = (raw: RawFrame): ProcessFrame => {
  switch (raw.type) {
    case FrameType.stdout:
      return { type: "output", stream: "stdout", offset: raw.offset, bytes: raw.payload }
    case FrameType.stderr:
      return { type: "output", stream: "stderr", offset: raw.offset, bytes: raw.payload }
    case FrameType.exited: {
      const { signal: name, ...end } = decodeExited(parse(raw.payload))
      // An agent of an earlier version reports some signals by their second name.
      const signal = name === null ? null : posixSignal(name)
      if ((end.exitCode === null) === (signal === null)) throw breach("exactly one of exitCode and signal must be null")
      return { type: "exited", ...end, outOfMemory: end.outOfMemory ?? false, signal }
    }
    default:
      return { type: "settled", ...decodeSettled(parse(raw.payload)) }
  }
}

const parse = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString("utf8"))
