/**
 * `POST /v1/processes/channel`: one interactive command on one bidirectional stream. When the stream closes, the command is ended.
 *
 * The request carries frames like the answer. Type 3 is a control message: first `{type: "start", purpose, argv, cwd, env, terminal}`, then any of
 * `{type: "end"}` (of the input), `{type: "resize", columns, rows}`, `{type: "signal", signal}`. Type 1 is input. The answer has the command's
 * output, `exited` and `settled`, at the pace of its reader; sent bytes are not kept.
 */

import { once } from "node:events"
import { constants } from "node:os"
import { kernelRandom } from "../kernelRandom.ts"
import { type Handler, Refusal } from "../routes.ts"
import type { CommandProcess } from "./CommandProcess.ts"
import { writeFrames } from "./frameWriter.ts"
import type { ProcessTable } from "./ProcessTable.ts"
import { FRAME_PAYLOAD_MAX_BYTES, FrameDecoder, FrameType, type RawFrame } from "./processFrames.ts"
import { commandSpec } from "./processRoutes.ts"
import { TerminalRoom } from "./TerminalRoom.ts"
import type { TerminalSize } from "./terminal.ts"

const OUTPUT_BYTES = 256 * 1024
const SIZE_MAX = 10_000

const controlOf = (frame: RawFrame): Record<string, unknown> => {
  const value: unknown =
    frame.type === FrameType.exited ? JSON.parse(Buffer.from(frame.payload).toString("utf8")) : null
  if (typeof value !== "object" || value === null)
    throw new Refusal(400, "INVALID_REQUEST", "Expected a control message")
  return value as Record<string, unknown>
}

const sizeOf = (value: unknown): TerminalSize => {
  const { columns, rows } = (value ?? {}) as Record<string, unknown>
  const isSize = (it: unknown): it is number =>
    Number.isInteger(it) && (it as number) >= 0 && (it as number) <= SIZE_MAX
  if (!isSize(columns) || !isSize(rows)) throw new Refusal(400, "INVALID_REQUEST", "columns or rows is not valid")
  return { columns, rows }
}

const control = (command: CommandProcess, message: Record<string, unknown>): void => {
  switch (message["type"]) {
    case "end":
      command.input?.end()
      return
    case "resize":
      void command.resize(sizeOf(message))
      return
    case "signal": {
      const signal = String(message["signal"])
      if (Object.hasOwn(constants.signals, signal)) command.signal(signal as NodeJS.Signals)
      return
    }
    default:
      throw new Refusal(400, "INVALID_REQUEST", "No such control message")
  }
}

export const channelRoute = (table: ProcessTable): Handler => {
  const room = new TerminalRoom()
  return async (stream) => {
    let key = `channel-${kernelRandom(16).toString("hex")}`
    const decoder = new FrameDecoder(FRAME_PAYLOAD_MAX_BYTES)
    let command: CommandProcess | null = null
    stream.once("close", () => table.forget(key))
    // Otherwise a refusal would end the stream before it could be answered.
    const chunks: AsyncIterable<Buffer> = stream.iterator({ destroyOnReturn: false })
    for await (const chunk of chunks) {
      for (const frame of decoder.push(chunk)) {
        if (command === null) {
          const message = controlOf(frame)
          const { purpose } = message
          const terminal = message["terminal"] == null ? null : sizeOf(message["terminal"])
          if (purpose === "terminal" || purpose === "ssh") key = key.replace("channel", purpose)
          const spec = commandSpec({
            ...message,
            stdin: null,
            timeoutMs: null,
            output: { mode: "window", bytes: OUTPUT_BYTES }
          })
          const start = () => table.start(key, { ...spec, interactive: { terminal } })
          const isLeft = () => stream.closed || stream.destroyed
          command = await (terminal === null ? start() : room.begin(start, isLeft))
          if (command === null || isLeft()) return table.forget(key)
          writeFrames(stream, command, { stdoutOffset: 0, stderrOffset: 0 }, true)
        } else if (frame.type === FrameType.stdout) {
          const { input } = command
          if (input !== null && !input.destroyed && !input.writableEnded && !input.write(frame.payload)) {
            await Promise.race([once(input, "drain"), once(input, "close"), once(stream, "close")]).catch(() => {})
          }
        } else control(command, controlOf(frame))
      }
    }
    command?.input?.end()
  }
}
