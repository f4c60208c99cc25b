/** A command from its start to its end, with all its output. */
import type { Operation as OperationRecord, StartOperationRequest } from "./generated/schemas.ts"
import type { Operation } from "./Operation.ts"

export interface StartOptions {
  /** A directory in /workspace that exists. */
  readonly cwd?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  /** All of its input, which then ends. */
  readonly stdin?: string | Uint8Array | undefined
  /** After so long the service kills the command, which has failed then. 1 to 86,400; by default never. */
  readonly timeoutSeconds?: number | undefined
  /** Names this start: the same key returns the same operation, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** Ends the wait; the command goes on. */
  readonly signal?: AbortSignal | undefined
}

export interface RunOptions extends StartOptions {
  /** Called with text as it is written, cut anywhere but within a character. */
  readonly onStdout?: ((text: string) => void) | undefined
  readonly onStderr?: ((text: string) => void) | undefined
  /** For each stream: output beyond it is passed on, but not kept for the result. By default 16 MiB. */
  readonly keepBytes?: number | undefined
}

export interface RunResult {
  /** Null when a signal ended it, or it was cancelled or failed. */
  readonly exitCode: number | null
  /** `SIGTERM` spelling. */
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** The beginning of a stream is not in `stdout` or `stderr`: it wrote more than is kept. */
  readonly truncated: boolean
  readonly operation: OperationRecord
}

export const keepBytesDefault = 16 * 1024 * 1024

const isText = (input: string | Uint8Array): input is string => typeof input === "string"

const base64Of = (bytes: Uint8Array): string => {
  let text = ""
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(text)
}

/** In the service's form. */
export const startBody = (
  argv: ReadonlyArray<string>,
  { cwd, env, stdin, timeoutSeconds }: StartOptions
): StartOperationRequest => ({
  argv,
  cwd,
  env,
  ...(stdin === undefined || isText(stdin) ? { stdin } : { stdin: base64Of(stdin), encoding: "base64" }),
  timeoutSeconds
})

/** The end of the output, `most` bytes of it. */
class Kept {
  readonly #most: number
  readonly #chunks: Array<Uint8Array> = []
  #bytes = 0
  isCut = false

  constructor(most: number) {
    this.#most = most
  }

  add(bytes: Uint8Array): void {
    this.#chunks.push(bytes)
    this.#bytes += bytes.length
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) >= this.#most && this.#chunks.length > 0) {
      this.#bytes -= this.#chunks.shift()!.length
      this.isCut = true
    }
  }

  text(): string {
    const decoder = new TextDecoder()
    return this.#chunks.map((bytes) => decoder.decode(bytes, { stream: true })).join("") + decoder.decode()
  }
}

class Written {
  readonly kept: Kept
  readonly #decoder = new TextDecoder()
  readonly #tell: ((text: string) => void) | undefined

  constructor(keepBytes: number, tell: ((text: string) => void) | undefined) {
    this.kept = new Kept(keepBytes)
    this.#tell = tell
  }

  add(bytes: Uint8Array, isCut: boolean): void {
    if (isCut) this.kept.isCut = true
    this.kept.add(bytes)
    const text = this.#decoder.decode(bytes, { stream: true })
    if (text !== "") this.#tell?.(text)
  }

  end(): void {
    const text = this.#decoder.decode()
    if (text !== "") this.#tell?.(text)
  }
}

/** Waits for its end and gathers its output. */
export const resultOf = async (
  operation: Operation,
  { onStdout, onStderr, keepBytes = keepBytesDefault, signal }: RunOptions
): Promise<RunResult> => {
  const written = { stdout: new Written(keepBytes, onStdout), stderr: new Written(keepBytes, onStderr) }
  const output = operation.output({ signal })
  let next = await output.next()
  try {
    for (; next.done !== true; next = await output.next()) {
      const { stream, bytes, truncated } = next.value
      written[stream].add(bytes, truncated)
    }
  } finally {
    // A callback may throw: then the reading stops.
    await output.return(undefined as never)
  }
  written.stdout.end()
  written.stderr.end()
  const { exitCode, signal: endedBy } = next.value
  return {
    exitCode,
    signal: endedBy,
    stdout: written.stdout.kept.text(),
    stderr: written.stderr.kept.text(),
    truncated: written.stdout.kept.isCut || written.stderr.kept.isCut,
    operation: next.value
  }
}
