/**
 * One terminal inside one WebSocket: binary messages carry its bytes, both ways; text messages are JSON with controls and its exit.
 *
 * Neither direction is buffered without bound: output is read from the guest only as the client takes it, and input only as the guest does.
 *
 * @source schemas/Terminal.ts; RFC 6455 section 7.4 (status codes)
 */
import { Deferred, Effect, Latch, Option, Queue, Schema, Stream } from "effect"
import { WebSocket } from "ws"
import {
  terminalColumnsMax,
  terminalControlMaxBytes,
  terminalInputMaxBytes,
  terminalRowsMax
} from "../../../schemas/Limits.ts"
import { TerminalControl, type TerminalExit } from "../../../schemas/Terminal.ts"
import type { ProcessChannel, ProcessFrame, TerminalSize } from "../../runtime/Guest.ts"

/** The WebSocket close code and reason. A reason has at most 123 bytes. */
export interface Ending {
  readonly code: number
  readonly reason: string
}

const exited: Ending = { code: 1000, reason: "" }
const unknownControl: Ending = {
  code: 1008,
  reason: `Text must be {"type":"resize","columns":1-${terminalColumnsMax},"rows":1-${terminalRowsMax}}, or of type pause or resume.`
}
const silent: Ending = { code: 1011, reason: "The client answers no ping." }
const broken: Ending = { code: 1011, reason: "The Sandbox stopped, or the connection into it broke." }
const defective: Ending = { code: 1011, reason: "Something went wrong on our side." }

/** Closes by the WebSocket library itself, which gives no reason. */
const malformed: ReadonlyMap<number, string> = new Map([
  [1002, "The WebSocket frame was malformed."],
  [1007, "A text frame must be UTF-8."],
  [1009, `A frame may have at most ${terminalInputMaxBytes} bytes.`]
])

export class TerminalSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason ?? malformed.get(code ?? 0))
  }
}

/** When this much output waits for the client, no more is read from the guest. */
const unreadMaxBytes = 64 * 1024
const pingEveryMs = 30_000
/** Each resize starts a program in the guest. */
const resizeEveryMs = 50
/** Time for the client to answer a close. */
const lingerMs = 2000

/** Closes with a reason; a client that does not answer is cut. */
export const closeSoon = (socket: WebSocket, { code, reason }: Ending): void => {
  socket.removeAllListeners("message")
  socket.close(code, reason)
  socket.resume()
  const timer = setTimeout(() => socket.terminate(), lingerMs).unref()
  socket.once("close", () => clearTimeout(timer))
}

const decodeControl = Schema.decodeUnknownOption(Schema.fromJsonString(TerminalControl), { onExcessProperty: "error" })

const controlOf = (data: Buffer): TerminalControl | null =>
  data.length > terminalControlMaxBytes ? null : Option.getOrNull(decodeControl(data.toString()))

const exitOf = ({ exitCode, signal }: Extract<ProcessFrame, { readonly type: "exited" }>): string =>
  JSON.stringify({ type: "exit", exitCode, signal } satisfies TerminalExit)

/** Runs until the shell has ended, the client violated the protocol, or either side is gone. Call it once for a socket; it resumes a paused one. */
export const carryTerminal = Effect.fnUntraced(
  function* (socket: WebSocket, channel: ProcessChannel) {
    const ending = yield* Deferred.make<Ending>()
    const end = (how: Ending) => void Deferred.doneUnsafe(ending, Effect.succeed(how))
    const input = yield* Queue.unbounded<Buffer>()
    const sizes = yield* Queue.sliding<TerminalSize>(1)
    const wanted = yield* Latch.make(true)
    let isAlive = true
    const heard = () => {
      isAlive = true
    }

    socket.on("pong", heard)
    socket.on("error", () => end(broken))
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      heard()
      if (isBinary) {
        socket.pause()
        Queue.offerUnsafe(input, data)
        return
      }
      const control = controlOf(data)
      if (control === null) end(unknownControl)
      else if (control.type === "resize") Queue.offerUnsafe(sizes, control)
      else if (control.type === "pause") wanted.closeUnsafe()
      else wanted.openUnsafe()
    })
    socket.resume()

    /** Returns when there is room for more; with `whole`, when the client has taken everything. */
    const send = (data: Uint8Array | string, whole = false) =>
      Effect.callback<void>((resume) => {
        socket.send(data, { binary: typeof data !== "string" }, () => {
          heard()
          resume(Effect.void)
        })
        if (!whole && socket.bufferedAmount <= unreadMaxBytes) resume(Effect.void)
      })

    const output = channel.frames.pipe(
      Stream.takeUntil(({ type }) => type === "exited"),
      Stream.runForEach((frame) => {
        if (frame.type === "settled") return Effect.void
        return Effect.andThen(wanted.await, frame.type === "output" ? send(frame.bytes) : send(exitOf(frame), true))
      }),
      Effect.as(exited)
    )

    const writes = Queue.take(input).pipe(
      Effect.flatMap(channel.write),
      Effect.andThen(Queue.size(input)),
      Effect.tap((waiting) => Effect.sync(() => waiting === 0 && socket.resume())),
      Effect.forever
    )

    const resizes = Queue.take(sizes).pipe(
      Effect.flatMap(channel.resize),
      Effect.andThen(Effect.sleep(resizeEveryMs)),
      Effect.forever
    )

    const watch = Effect.sleep(pingEveryMs).pipe(
      Effect.andThen(
        Effect.suspend(() => {
          // While the guest takes no input, the socket is paused, and a pong cannot arrive either.
          if (!isAlive && !socket.isPaused) return Effect.succeed(true)
          isAlive = false
          socket.ping()
          return Effect.succeed(false)
        })
      ),
      Effect.repeat({ until: (isGone) => isGone }),
      Effect.as(silent)
    )

    return yield* Effect.raceAllFirst([output, writes, resizes, watch, Deferred.await(ending)]).pipe(
      Effect.catchTag("GuestUnavailable", () => Effect.succeed(broken))
    )
  },
  Effect.catchDefect((defect) => Effect.as(Effect.logError("A terminal met a defect", defect), defective))
)
