/** One actor's state while its log is folded. */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate"
import type { Deadlines, PendingCommand } from "../../store/JournalRecord.ts"
import type { AnyEvent } from "../ActorDefinition.ts"
import { begin, type Declined, decide } from "../Transition.ts"

export interface MachineFold {
  readonly value: string
  readonly context: unknown
  /** Those of the last transition. */
  readonly commands: ReadonlyArray<PendingCommand>
  /** Null: the machine takes the event. `revision` is the number of its transition. Throws what the machine throws. */
  apply(event: AnyEvent, revision: number): Declined | null
}

/** Throws what the machine throws. */
export type BeginFold = (machine: AnyStateMachine, input: unknown) => MachineFold

class XStateFold implements MachineFold {
  readonly #machine: AnyStateMachine
  #snapshot: AnyMachineSnapshot
  #deadlines: Deadlines
  commands: ReadonlyArray<PendingCommand>

  constructor(machine: AnyStateMachine, input: unknown) {
    this.#machine = machine
    const first = begin(machine, input)
    this.#snapshot = first.snapshot
    this.#deadlines = first.deadlines
    this.commands = first.commands
  }

  get value(): string {
    return this.#snapshot.value as string
  }

  get context(): unknown {
    return this.#snapshot.context
  }

  apply(event: AnyEvent, revision: number): Declined | null {
    const verdict = decide(this.#machine, this.#snapshot, event, revision, this.#deadlines)
    if (verdict.type !== "accepted") return verdict
    this.#snapshot = verdict.snapshot
    this.#deadlines = verdict.deadlines
    this.commands = verdict.commands
    return null
  }
}

/** As a live actor does it. */
export const foldByXState: BeginFold = (machine, input) => new XStateFold(machine, input)
