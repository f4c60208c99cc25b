/** Launches a command: its tree, its output buffers, its input, and its own process. */
import { closeSync, constants, fchownSync, openSync, unlinkSync, writeSync } from "node:fs"
import { join } from "node:path"
import { shell } from "../ownProgram.ts"
import { Refusal } from "../routes.ts"
import type { CommandHost } from "./CommandHost.ts"
import type { CommandSpec } from "./CommandSpec.ts"
import { OutputBuffer } from "./OutputBuffer.ts"
import type { InputFile, Launched, LaunchFailure, LaunchRequest } from "./ProcessLaunch.ts"
import type { ProcessTree } from "./ProcessTree.ts"
import { terminalArgv } from "./terminal.ts"
import { folderRefusal } from "./workingDirectory.ts"

export interface LaunchedCommand {
  readonly startedAt: number
  /** Whether the kernel has killed a process of the Sandbox since it was started, because memory ran out. */
  readonly wasMemoryShort: () => boolean
  readonly tree: ProcessTree
  readonly stdout: OutputBuffer
  readonly stderr: OutputBuffer
  /** A failure: its program could not be executed. */
  readonly process: Launched | LaunchFailure
}

/** Throws a Refusal when the command cannot be started for a reason that the caller can fix. */
export const launchCommand = async (
  spec: CommandSpec,
  host: CommandHost,
  onProgress: () => void
): Promise<LaunchedCommand> => {
  const startedAt = Date.now()
  const wasMemoryShort = host.watchMemoryKills()
  const tree = treeFor(host)
  const stdout = new OutputBuffer(spec.output.mode, spec.output.bytes, host.retained)
  const stderr = new OutputBuffer(spec.output.mode, spec.output.bytes, host.retained)
  let stdin: LaunchRequest["stdin"] = "ignore"
  try {
    if (spec.interactive) stdin = "pipe"
    else if (spec.stdin !== null) stdin = stdinFile(spec.stdin, host)
    const terminal = spec.interactive?.terminal ?? null
    if (terminal !== null && shell === null) {
      throw new Refusal(
        409,
        "SHELL_MISSING",
        "The image of this Sandbox has no shell, so that it has no terminals. Execute its programs."
      )
    }
    const launch = spec.interactive ? host.launchInteractive : host.launch
    const process = await launch(
      {
        argv: terminal === null ? spec.argv : terminalArgv(spec.argv, terminal),
        cwd: spec.cwd,
        env: { ...host.defaultEnv, ...spec.env },
        runAs: host.runAs,
        tree,
        stdin,
        unwaited: spec.unwaited === true
      },
      { stdout, stderr, onProgress }
    ).catch((cause: LaunchFailure) => {
      const refusal = cause.atFolder ? folderRefusal(spec.cwd, cause) : refusalOf(cause)
      if (refusal instanceof Refusal) throw refusal
      return cause
    })
    return { startedAt, wasMemoryShort, tree, stdout, stderr, process }
  } catch (cause) {
    tree.dispose()
    throw refusalOf(cause)
  } finally {
    if (typeof stdin === "object") unlinkSync(stdin.path)
  }
}

/** A file instead of a pipe: end of file comes by itself, and `/dev/stdin` can be opened. */
const stdinFile = (bytes: Uint8Array, host: CommandHost): InputFile => {
  const path = join(host.scratchDir, `stdin-${process.pid}-${process.hrtime.bigint()}`)
  const write = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(write, bytes, written)
    if (host.runAs !== null) fchownSync(write, host.runAs.uid, host.runAs.gid)
    return { path }
  } catch (cause) {
    unlinkSync(path)
    throw cause
  } finally {
    closeSync(write)
  }
}

/** A Sandbox may have used up its cgroups: then it has no room for a command, and nothing was run. */
const treeFor = ({ trees }: CommandHost): ProcessTree => {
  try {
    return trees.create()
  } catch (cause) {
    throw refusalOf(cause)
  }
}

const refusalOf = (cause: unknown): unknown => {
  switch ((cause as NodeJS.ErrnoException).code) {
    case "E2BIG":
      return new Refusal(409, "ARGUMENTS_TOO_LONG", "The arguments and the environment are too long for the kernel")
    case "EAGAIN":
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return new Refusal(409, "TOO_MANY_PROCESSES", "The Sandbox has no room for another process")
    default:
      return cause
  }
}
