/**
 * Starts a command's process and reads its output: through a program beside the agent that reports every exit (SpawnerProgram.ts), or, where none
 * exists for the processor, through Node (NodeLaunch.ts).
 */
import type { Writable } from "node:stream"
import type { OutputBuffer } from "./OutputBuffer.ts"
import type { PipeOwner } from "./outputPipes.ts"
import type { ProcessTree } from "./ProcessTree.ts"

export interface InputFile {
  readonly path: string
}

export interface LaunchRequest {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Null means the agent's own user. */
  readonly runAs: PipeOwner | null
  readonly tree: ProcessTree
  /** A file is opened before `Launch` resolves; its name is not needed afterwards. */
  readonly stdin: InputFile | "ignore" | "pipe"
  /** The caller cannot use the process before it ends. */
  readonly unwaited: boolean
}

export interface Output {
  readonly stdout: OutputBuffer
  readonly stderr: OutputBuffer
  /** Called after every read, and when all output of the process was read. */
  readonly onProgress: () => void
}

export interface Launched {
  readonly pid: number
  /** The input, if `stdin` is `pipe`. */
  readonly input: Writable | null
  readonly signal: (signal: NodeJS.Signals) => void
  /** One listener, called once; immediately if the process has ended. */
  readonly onEnd: (listener: EndListener) => void
  /** True when all of the process's own output was read. */
  readonly isDrained: () => boolean
  /** True when its tree is known, at no cost, to have no other process; false means unknown. */
  readonly isAlone: () => boolean
  /** Continues to read if the buffers have room again. */
  readonly wake: () => void
  /** Closes the pipes. */
  readonly dispose: () => void
}

/** `atFolder`: the working directory could not be entered. */
export interface LaunchFailure extends NodeJS.ErrnoException {
  readonly atFolder?: boolean
}

/** Rejects with a LaunchFailure when the program cannot be executed. */
export type Launch = (request: LaunchRequest, output: Output) => Promise<Launched>

type EndListener = (exitCode: number | null, signal: string | null) => void

/** The end of a process, which may come before or after the listener is attached. */
export class ProcessEnd {
  #ended: Parameters<EndListener> | null = null
  #listener: EndListener | null = null

  readonly set: EndListener = (...ended) => {
    this.#ended = ended
    this.#listener?.(...ended)
  }

  readonly listen = (listener: EndListener): void => {
    this.#listener = listener
    if (this.#ended !== null) listener(...this.#ended)
  }
}
