/** One command in a Sandbox: its input, its output, its end, and its interruption. */
import { ConnectionError } from "../../errors.ts"
import type { Operation as OperationRecord } from "../../generated/schemas.ts"
import type { Operation } from "../../Operation.ts"
import { resultOf, type StartOptions } from "../../run.ts"
import type { Sandbox } from "../../Sandbox.ts"
import { Refused, sentenceOf } from "../failure.ts"
import type { Input } from "../Input.ts"
import type { Interruption } from "../Interruption.ts"
import { jsonOf, ReaderGone, remark, writeLine } from "../standardStreams.ts"
import { carriedArgv, carryInput, inputFolder } from "./carriedInput.ts"
import { endOf } from "./exitCode.ts"
import { passOn } from "./passOn.ts"

/** Covers a restart of the service, or a laptop that slept: the command goes on meanwhile. */
export const patienceSeconds = 600

/** Input up to this length that has ended by then goes with the command. */
const wholeMaxBytes = 48 * 1024
const wholeWithinMs = 250

const queuedSaidAfterMs = 3_000

/** A detached command has no client that could send input later. */
export const started = async (
  sandbox: Sandbox,
  argv: ReadonlyArray<string>,
  asked: StartOptions,
  input: Input | null
): Promise<Operation> => {
  const whole = input === null ? undefined : await input.whole(wholeMaxBytes, wholeWithinMs)
  if (whole === null && input?.hasCome === true) {
    throw new Refused(
      "Input that is longer than 48 KiB, or goes on, is for a command that is waited for: without --detach."
    )
  }
  return sandbox.start(argv, { ...asked, stdin: whole ?? undefined })
}

/** A Sandbox runs a bounded number concurrently; further ones wait, and the command says so. */
const sayIfQueued = (operation: Operation, over: AbortSignal): void => {
  const timer = setTimeout(async () => {
    const { status } = await operation.refresh({ signal: over }).catch(() => ({ status: null }))
    if (status === "queued") remark("The command waits in the queue: the Sandbox runs as many as it may at once.")
  }, queuedSaidAfterMs)
  over.addEventListener("abort", () => clearTimeout(timer), { once: true })
}

/** Its output, as one document when it has ended. */
const gathered = async (operation: Operation): Promise<OperationRecord> => {
  const { stdout, stderr, truncated, operation: ended } = await resultOf(operation, {})
  await writeLine(jsonOf({ operation: ended, stdout, stderr, truncated }, 2))
  return ended
}

/** Its output cannot be written here: the reader has gone, or the disk is full. */
const isOfHere = (thrown: unknown): boolean =>
  thrown instanceof ReaderGone || (thrown as NodeJS.ErrnoException).syscall === "write"

export interface Circumstances {
  readonly input: Input | null
  readonly isJson: boolean
  /** The Sandbox outlives the command. */
  readonly isLasting: boolean
  readonly interruption: Interruption
}

/** Returns the exit code. */
export const inSandbox = async (
  sandbox: Sandbox,
  argv: ReadonlyArray<string>,
  asked: StartOptions,
  { input, isJson, isLasting, interruption }: Circumstances
): Promise<number> => {
  const whole = (await input?.whole(wholeMaxBytes, wholeWithinMs)) ?? undefined
  const folder = input === null || whole !== undefined ? null : inputFolder()
  if (folder !== null) await sandbox.files.mkdir(folder, { recursive: true })
  const words = folder === null ? argv : carriedArgv(folder, argv)
  const operation = await sandbox.start(words, { ...asked, stdin: whole })

  const over = new AbortController()
  sayIfQueued(operation, over.signal)
  const cancel = () => {
    operation.cancel({ signal: over.signal }).catch((thrown: unknown) => {
      if (!over.signal.aborted) remark(`It is not cancelled: ${sentenceOf(thrown, "its address")}`)
    })
  }
  if (interruption.signal.aborted) cancel()
  else interruption.signal.addEventListener("abort", cancel, { once: true })

  const fault: { thrown: unknown } = { thrown: null }
  if (folder !== null) {
    carryInput(sandbox.files, folder, input!, patienceSeconds, over.signal).catch((thrown: unknown) => {
      if (over.signal.aborted) return
      fault.thrown = thrown
      cancel()
    })
  }

  try {
    const ended = isJson ? await gathered(operation) : await passOn(operation)
    if (fault.thrown !== null) throw fault.thrown
    if (ended.status === "cancelled" && interruption.exitCode !== null) return interruption.exitCode
    const { exitCode, said } = endOf(ended)
    if (said !== null) remark(said)
    return exitCode
  } catch (thrown) {
    if (isOfHere(thrown)) await operation.cancel()
    if (thrown instanceof ConnectionError && isLasting) {
      remark(`The command may go on: \`atoll operation output ${sandbox.id} ${operation.id}\` follows it.`)
    }
    throw thrown
  } finally {
    over.abort()
    input?.stop()
    // If a signal ended the shell that would have done it.
    if (folder !== null && isLasting) await sandbox.files.remove(folder, { recursive: true }).catch(() => {})
  }
}
