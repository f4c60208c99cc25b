/**
 * One terminal inside one WebSocket: binary messages are its bytes, both ways; text messages are JSON that steers it, and its exit.
 *
 * Neither side's messages gather here: output is taken from the guest as the client takes it, input from the client as the guest does.
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
} from "../../schemas/Limits.ts"
import { TerminalControl, type TerminalExit } from "../../schemas/Terminal.ts"
import type { ProcessChannel, ProcessFrame, TerminalSize } from "../runtime/Guest.ts"

/** How a connection is closed. A reason has at most 123 bytes. */
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

/** What the WebSocket itself closes for, which gives no reason of its own. */
const malformed: ReadonlyMap<number, string> = new Map([
  [1002, "This was no well-formed WebSocket frame."],
  [1007, "A text frame must be UTF-8."],
  [1009, `A frame may have ${terminalInputMaxBytes} bytes.`]
])

export class TerminalSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, reason ?? malformed.get(code ?? 0))
  }
}

/** What the client has not taken yet, beyond which nothing more is taken from the guest. */
const unreadMaxBytes = 64 * 1024
const pingEveryMs = 30_000
/** In the guest each is a program that runs. */
const resizeEveryMs = 50
/** For the client to answer a close. */
const lingerMs = 2000

/** The last word; a client that does not answer it is cut. */
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

/** Until the shell has ended, the client broke the rules, or either side is gone. Of one socket, once; a paused one is resumed. */
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

    /** Returns when there is room for more; `whole`: when all of it has been taken. */
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
          // Of one whose input the guest does not take, nothing is read.
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
