/** What all commands of one agent share. */
import type { RetainedBytes } from "./OutputBuffer.ts"
import type { PipeOwner } from "./outputPipes.ts"
import type { Launch } from "./ProcessLaunch.ts"
import type { ProcessTrees } from "./ProcessTree.ts"

export interface CommandHost {
  readonly trees: ProcessTrees
  /** For commands without an open input. */
  readonly launch: Launch
  /** For interactive commands. */
  readonly launchInteractive: Launch
  readonly retained: RetainedBytes
  /** Commands run as this user; null: the agent's own. */
  readonly runAs: PipeOwner | null
  readonly defaultEnv: Readonly<Record<string, string>>
  /** For short-lived files of the agent; not readable by commands when `runAs` is set. */
  readonly scratchDir: string
  /** See memoryKills.ts. */
  readonly watchMemoryKills: () => () => boolean
  /** Runs one of the agent's own programs to its end. */
  readonly runOwn: (argv: readonly [string, ...Array<string>]) => Promise<void>
}
