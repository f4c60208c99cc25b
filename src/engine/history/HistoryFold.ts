/**
 * Folds one actor's log through its machine, entry by entry, and finds the first place where the machine decides otherwise than the log says.
 *
 * @source design.md "replaying it through the machine gives the snapshot"
 */
import type { AnyStateMachine } from "xstate"
import type { PendingCommand, StoredSnapshot } from "../../store/JournalRecord.ts"
import type { ActorDefinition, AnyEvent } from "../ActorDefinition.ts"
import { jsonDifference } from "./jsonDifference.ts"
import { foldByXState, type MachineFold } from "./MachineFold.ts"

export interface HistoryEntry {
  readonly revision: number
  readonly event: AnyEvent
  /** Null: the first entry. */
  readonly from: string | null
  readonly to: string
  readonly commands: ReadonlyArray<PendingCommand>
}

const shownMax = 120

const shown = (value: unknown): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value)
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text
}

export class HistoryFold {
  readonly #presentCommand: ActorDefinition["presentCommand"]
  readonly #fold: MachineFold
  #revision = 0

  /**
   * @param input What the actor was made of. Throws what the machine throws.
   * @param presentCommand Of its definition: entries of an older version have commands by their former names.
   * @param begin By whose steps it folds.
   */
  constructor(
    machine: AnyStateMachine,
    input: unknown,
    presentCommand?: ActorDefinition["presentCommand"],
    begin = foldByXState
  ) {
    this.#presentCommand = presentCommand
    this.#fold = begin(machine, input)
  }

  /** The next entry of the log. Returns a sentence without its full stop if the machine decides otherwise; after that the fold is over. */
  take(entry: HistoryEntry): string | null {
    this.#revision++
    const fold = this.#fold
    const name = () => `entry ${this.#revision} (${entry.event.type})`
    if (entry.revision !== this.#revision)
      return `entry ${this.#revision} is missing: the next one is ${entry.revision}`
    const from = this.#revision === 1 ? null : fold.value
    if (entry.from !== from) return `${name()} comes from ${entry.from}, and the machine is in ${from}`
    if (from !== null) {
      const verdict = fold.apply(entry.event, this.#revision)
      if (verdict !== null) {
        return `${name()} led from ${from} to ${entry.to}, and the machine answers ${verdict.type === "refused" ? verdict.code : "that it changes nothing"}`
      }
    }
    if (entry.to !== fold.value) {
      return `${name()} led from ${from} to ${entry.to}, and the machine goes to ${fold.value}`
    }
    const other = jsonDifference(fold.commands, this.#present(entry))
    return other === null
      ? null
      : `${name()} asked for other commands: at ${other.path || "all"} ${shown(other.found)}, and the machine says ${shown(other.expected)}`
  }

  #present({ to, commands }: HistoryEntry): ReadonlyArray<PendingCommand> {
    const present = this.#presentCommand
    return present === undefined ? commands : commands.map((one) => ({ ...one, type: present(to, one.type) }))
  }

  /** After the last entry. `stored`: in the machine's present version. */
  end(revision: number, stored: StoredSnapshot): string | null {
    if (revision !== this.#revision) return `it is at revision ${revision}, and its log has ${this.#revision} entries`
    const { value, context } = this.#fold
    const other = jsonDifference({ value, context }, stored)
    return other === null
      ? null
      : `its ${other.path} is ${shown(other.found)}, and the log folds to ${shown(other.expected)}`
  }
}
