/**
 * Folds one actor's log through its machine, entry by entry, and finds the first place where the machine decides otherwise than the log says.
 *
 * @source design.md "replaying it through the machine gives the snapshot"
 */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate"
import type { Deadlines, PendingCommand, StoredSnapshot } from "../../store/JournalRecord.ts"
import type { ActorDefinition, AnyEvent } from "../ActorDefinition.ts"
import { begin, decide, store } from "../Transition.ts"
import { jsonDifference } from "./jsonDifference.ts"

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
  readonly #machine: AnyStateMachine
  readonly #presentCommand: ActorDefinition["presentCommand"]
  #snapshot: AnyMachineSnapshot
  #deadlines: Deadlines
  #commands: ReadonlyArray<PendingCommand>
  #revision = 0

  /**
   * @param input What the actor was made of. Throws what the machine throws.
   * @param presentCommand Of its definition: entries of an older version have commands by their former names.
   */
  constructor(machine: AnyStateMachine, input: unknown, presentCommand?: ActorDefinition["presentCommand"]) {
    this.#machine = machine
    this.#presentCommand = presentCommand
    const first = begin(machine, input)
    this.#snapshot = first.snapshot
    this.#deadlines = first.deadlines
    this.#commands = first.commands
  }

  /** The next entry of the log. Returns a sentence without its full stop if the machine decides otherwise; after that the fold is over. */
  take(entry: HistoryEntry): string | null {
    this.#revision++
    const name = `entry ${this.#revision} (${entry.event.type})`
    if (entry.revision !== this.#revision)
      return `entry ${this.#revision} is missing: the next one is ${entry.revision}`
    const from = this.#revision === 1 ? null : (this.#snapshot.value as string)
    if (entry.from !== from) return `${name} comes from ${entry.from}, and the machine is in ${from}`
    if (from !== null) {
      const verdict = decide(this.#machine, this.#snapshot, entry.event, this.#revision, this.#deadlines)
      if (verdict.type !== "accepted") {
        return `${name} led from ${from} to ${entry.to}, and the machine answers ${verdict.type === "refused" ? verdict.code : "that it changes nothing"}`
      }
      this.#snapshot = verdict.snapshot
      this.#deadlines = verdict.deadlines
      this.#commands = verdict.commands
    }
    if (entry.to !== this.#snapshot.value) {
      return `${name} led from ${from} to ${entry.to}, and the machine goes to ${this.#snapshot.value}`
    }
    const other = jsonDifference(this.#commands, this.#present(entry))
    return other === null
      ? null
      : `${name} asked for other commands: at ${other.path || "all"} ${shown(other.found)}, and the machine says ${shown(other.expected)}`
  }

  #present({ to, commands }: HistoryEntry): ReadonlyArray<PendingCommand> {
    const present = this.#presentCommand
    return present === undefined ? commands : commands.map((one) => ({ ...one, type: present(to, one.type) }))
  }

  /** After the last entry. `stored`: in the machine's present version. */
  end(revision: number, stored: StoredSnapshot): string | null {
    if (revision !== this.#revision) return `it is at revision ${revision}, and its log has ${this.#revision} entries`
    const other = jsonDifference(store(this.#snapshot), stored)
    return other === null
      ? null
      : `its ${other.path} is ${shown(other.found)}, and the log folds to ${shown(other.expected)}`
  }
}
