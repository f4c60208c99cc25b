/** Commands as child processes of the agent, which reads their pipes. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync, writeFileSync } from "node:fs"
import { OutputReader } from "./OutputReader.ts"
import type { OutputPipes } from "./outputPipes.ts"
import { type Launch, ProcessEnd } from "./ProcessLaunch.ts"
import { posixSignal } from "./signals.ts"
import { checkFolder } from "./workingDirectory.ts"

const PREFER_AGAIN_MS = 10
/** Most commands have ended by then, and one read of their output is cheaper than watching for it. */
const WATCH_AFTER_MS = 5
/** In thousandths of all memory, added to the process's usage. */
const COMMAND_OOM_SCORE = "500"

/**
 * When memory runs out, the kernel should kill the command before the agent. The score is not inherited from the agent: while the agent forks, which
 * takes memory, it would itself be the first victim, and was.
 */
const preferForOutOfMemory = (pid: number): void => {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, COMMAND_OOM_SCORE)
  } catch {
    // It has ended already.
  }
}

export const launchByNode =
  (pipes: OutputPipes): Launch =>
  async ({ argv, cwd, env, runAs, tree, stdin }, { stdout, stderr, onProgress }) => {
    checkFolder(cwd)
    const [outPath, errPath] = (await pipes.reserve(2)) as [string, string]
    const out = pipes.open(outPath)
    const err = (() => {
      try {
        return pipes.open(errPath)
      } catch (cause) {
        closeSync(out.readFd)
        closeSync(out.writeFd)
        throw cause
      }
    })()
    let input: number | null = null
    try {
      const from = typeof stdin === "string" ? stdin : openSync(stdin.path, "r")
      if (typeof from === "number") input = from
      const [file, ...args] = tree.wrap(argv) as [string, ...Array<string>]
      const child = tree.enter(() =>
        spawn(file, args, {
          cwd,
          env,
          detached: true,
          stdio: [from, out.writeFd, err.writeFd],
          ...(runAs === null ? {} : { uid: runAs.uid, gid: runAs.gid })
        })
      )
      const { pid } = child
      if (pid === undefined) {
        const [failure] = await once(child, "error")
        throw failure
      }
      const readers = [
        new OutputReader(out.readFd, stdout, onProgress),
        new OutputReader(err.readFd, stderr, onProgress)
      ]
      const watching = setTimeout(
        () => {
          for (const reader of readers) reader.watch()
        },
        stdin === "pipe" ? 0 : WATCH_AFTER_MS
      )
      preferForOutOfMemory(pid)
      // Its children inherit the score, but the first may have started before it was set.
      const preference = setTimeout(() => {
        for (const member of tree.members()) preferForOutOfMemory(member)
      }, PREFER_AGAIN_MS)
      const end = new ProcessEnd()
      child.on("error", () => {})
      child.on("exit", (code, signal) => {
        clearTimeout(watching)
        clearTimeout(preference)
        // Node reports a death by a real-time signal as exit 0, because it has no name for it. SpawnerProgram.ts reports it.
        end.set(code, signal === null ? null : posixSignal(signal))
        for (const reader of readers) reader.processExited()
      })
      // The command may end before it has read everything.
      child.stdin?.on("error", () => {})
      return {
        pid,
        input: child.stdin,
        signal: (signal) => child.kill(signal),
        onEnd: end.listen,
        isAlone: () => false,
        isDrained: () => readers.every((reader) => reader.drained),
        wake: () => {
          for (const reader of readers) reader.wake()
        },
        dispose: () => {
          for (const reader of readers) reader.destroy()
        }
      }
    } catch (cause) {
      closeSync(out.readFd)
      closeSync(err.readFd)
      throw cause
    } finally {
      closeSync(out.writeFd)
      closeSync(err.writeFd)
      if (input !== null) closeSync(input)
    }
  }
