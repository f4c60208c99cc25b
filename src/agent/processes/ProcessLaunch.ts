/** How a command's process comes to be and how its output is read: by a program beside the agent that tells every end (SpawnerProgram.ts), or, where there is none for the processor, by Node (NodeLaunch.ts). */
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
  /** Null: as the agent's own user. */
  readonly runAs: PipeOwner | null
  readonly tree: ProcessTree
  /** A file is opened before `Launch` resolves, and its name not needed any more. */
  readonly stdin: InputFile | "ignore" | "pipe"
  /** Nobody can do anything with the process before it ends. */
  readonly unwaited: boolean
}

export interface Output {
  readonly stdout: OutputBuffer
  readonly stderr: OutputBuffer
  /** Called after every read, and when all that the process wrote was read. */
  readonly onProgress: () => void
}

export interface Launched {
  readonly pid: number
  /** Its input, of a `pipe`. */
  readonly input: Writable | null
  readonly signal: (signal: NodeJS.Signals) => void
  /** One listener, called once; at once if the process has ended. */
  readonly onEnd: (listener: EndListener) => void
  /** Nothing that the process itself wrote is still to come. */
  readonly isDrained: () => boolean
  /** True when it is known, at no cost, that nobody else is in its tree; false says nothing. */
  readonly isAlone: () => boolean
  /** Reads on if the buffers have room again. */
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

/** An end that may come before or after somebody listens. */
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
