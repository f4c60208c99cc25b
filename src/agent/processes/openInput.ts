/** An input that stays open, for a `Launch` that takes only a file: the command reads a pipe, and the agent holds its other end. */
import { closeSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import type { OutputPipes } from "./outputPipes.ts"
import type { Launch } from "./ProcessLaunch.ts"

export const withOpenInput =
  (launch: Launch, pipes: OutputPipes): Launch =>
  async (request, output) => {
    const [path] = await pipes.reserve(1)
    const { readFd, writeFd } = pipes.openNamed(path!)
    const input = new Socket({ fd: writeFd, readable: false, writable: true })
    // The command may end before it has read everything.
    input.on("error", () => {})
    try {
      const launched = await launch({ ...request, stdin: { path: path! } }, output)
      return {
        ...launched,
        input,
        dispose: () => {
          input.destroy()
          launched.dispose()
        }
      }
    } catch (cause) {
      input.destroy()
      throw cause
    } finally {
      closeSync(readFd)
      unlinkSync(path!)
    }
  }
