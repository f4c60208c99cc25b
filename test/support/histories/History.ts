/**
 * A whole life of one actor, as a database had it: `test/histories/ORIGIN.KIND.jsonl` holds one in each line, for ever. Each later version of a machine
 * must fold it to the same state, or say in a migration what changes.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { AnyStateMachine } from "xstate"
import { type HistoryEntry, HistoryFold } from "../../../src/engine/history/HistoryFold.ts"
import { historyKinds } from "../../../src/ops/histories/kinds.ts"
import type { StoredSnapshot } from "../../../src/store/JournalRecord.ts"

export interface History {
  readonly kind: string
  /** The version of the machine that stored `end`. */
  readonly machineVersion: number
  readonly input: unknown
  readonly log: ReadonlyArray<Omit<HistoryEntry, "revision">>
  readonly end: StoredSnapshot
}

export const historiesFolder = join(import.meta.dirname, "../../histories")

export const readHistories = (file: string): ReadonlyArray<History> =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as History)

/** Where the lives were recorded: `namespace`, `qemu`, `fleet`, `race`. */
export const recordedOrigins = (): ReadonlyArray<{
  readonly origin: string
  readonly kind: string
  readonly file: string
}> =>
  readdirSync(historiesFolder)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => {
      const [origin, kind] = name.split(".") as [string, string]
      return { origin, kind, file: join(historiesFolder, name) }
    })

/**
 * How the present machine differs from the life; null: it folds to what was stored.
 *
 * @param other In the machine's place.
 */
export const foldFault = (
  { kind, machineVersion, input, log, end }: History,
  other?: AnyStateMachine
): string | null => {
  const known = historyKinds.get(kind)
  if (known === undefined) return `no machine is called ${kind}`
  if (machineVersion > Number(known.machine.version)) return `version ${machineVersion} is newer than the machine`
  const fold = new HistoryFold(other ?? known.machine, input, known.presentCommand)
  for (const [index, entry] of log.entries()) {
    const fault = fold.take({ ...entry, revision: index + 1 })
    if (fault !== null) return fault
  }
  return fold.end(log.length, known.present(end))
}
