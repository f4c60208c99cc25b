/** All that a Sandbox consists of. */
import type { Answer, DoesOf, DoesType } from "../calls.ts"

export interface CommandState {
  /** All that never changes of it; null: not known, because no answer has told it. */
  readonly fixed: string | null
  /** The boot of the Sandbox that runs it. */
  readonly generation: number
  /** What it is at least: `over` is any terminal status. A terminal one with its result. */
  readonly seen: string
  /** How many bytes of its output are stored at least. */
  readonly written: number
  /** No more will be. */
  readonly isWritten: boolean
}

export interface PreviewState {
  /** Null: not known, because no answer has told it. */
  readonly id: string | null
  readonly port: number
  readonly generation: number
  /** opening: its port is taken, and it is not served yet. closing: it is served no more, or soon. */
  readonly is: "opening" | "active" | "closing"
}

/** It outlives the Sandbox. */
export interface SnapshotState {
  /** Null: not known, because no answer has told it. */
  readonly fixed: string | null
  readonly status: "creating" | "ready" | "failed" | "deleting" | "deleted"
  readonly name: string | null
  readonly wasReady: boolean
  /** Those of the Sandbox at one moment, which is before `ready`; null: there is no image yet, or never. */
  readonly files: Readonly<Record<string, string>> | null
  /** No answer tells its files. */
  readonly isUnread: boolean
  /** A rollback takes it, once its Sandbox has stopped for that. */
  readonly isKept: boolean
}

/** The last one of the Sandbox. */
export interface RollbackState {
  /** The name of the snapshot that keeps the volume before, and of the one whose volume takes its place. */
  readonly by: string
  readonly of: string
  readonly outcome: "open" | "done" | "failed"
  /** The host has replaced the volume. */
  readonly isReplaced: boolean
}

/** A Sandbox that was made of a snapshot. */
export interface ChildState {
  readonly of: string
  /** Null: not known, because no answer has told it. */
  readonly id: string | null
}

export interface State {
  /** Null: it is not made. */
  readonly status:
    | "pending"
    | "running"
    | "stopping"
    | "restoring"
    | "stopped"
    | "failed"
    | "deleting"
    | "deleted"
    | null
  /** The code of the reason for that. */
  readonly reason: string | null
  /** When that changed, and all that never changes; null: not known, because no answer has told it. */
  readonly changedAt: string | null
  readonly fixed: string | null
  readonly generation: number
  /** It can have previews. */
  readonly hasNetwork: boolean
  /** A start came while it was stopping, or it ran before a rollback. */
  readonly restarts: boolean
  readonly rollback: RollbackState | null
  readonly name: string | null
  readonly label: string
  /** The statuses that it has had, and what clients changed, in the order of the commits. */
  readonly log: ReadonlyArray<string>
  readonly startKeys: ReadonlyArray<string>
  readonly commands: Readonly<Record<string, CommandState>>
  /** On its volume, which stays while it is stopped. */
  readonly files: Readonly<Record<string, string>>
  /** Those that are not closed, by the names that their clients gave them. */
  readonly previews: Readonly<Record<string, PreviewState>>
  /** By the names that their clients gave them, as the following. */
  readonly snapshots: Readonly<Record<string, SnapshotState>>
  readonly children: Readonly<Record<string, ChildState>>
}

/** The states that are possible after a call; none: it cannot have been answered so. */
export type Next = ReadonlyArray<State>

/** A call: the states after it, if it is answered so. An answer of null is one that the client lost. */
export type Step<T extends DoesType> = (state: State, does: DoesOf<T>, answer: Answer | null, moment: number) => Next

const blank = {
  name: null,
  label: "",
  log: [],
  startKeys: [],
  commands: {},
  files: {},
  previews: {},
  snapshots: {},
  children: {},
  rollback: null
}

export const notMade: State = {
  ...blank,
  status: null,
  reason: null,
  changedAt: null,
  fixed: null,
  hasNetwork: false,
  generation: 0,
  restarts: false
}

export const when = (holds: boolean, state: State): Next => (holds ? [state] : [])

const inOrder = (entries: object) => Object.entries(entries).sort(([one], [other]) => (one < other ? -1 : 1))

/** Two states are the same if their keys are. */
export const keyOf = ({ startKeys, commands, files, previews, snapshots, children, ...rest }: State): string =>
  JSON.stringify([
    ...[rest, startKeys.toSorted(), inOrder(commands), inOrder(files), inOrder(previews)],
    ...[
      inOrder(snapshots).map(([by, one]) => [by, { ...one, files: one.files && inOrder(one.files) }]),
      inOrder(children)
    ]
  ])

export const stateText = ({
  status,
  generation,
  name,
  label,
  log,
  commands,
  files,
  previews,
  snapshots,
  restarts,
  rollback
}: State) =>
  [
    `${status ?? "not made"} #${generation}${restarts ? ", boots again" : ""}${rollback === null ? "" : `, rollback to ${rollback.of} ${rollback.outcome}`} name=${name} label=${label}`,
    `log [${log.join(" ")}]`,
    `commands {${Object.entries(commands).map(([by, { seen, written }]) => `${by}: ${seen}, ${written} bytes`)}}`,
    `files {${Object.entries(files).map(([path, text]) => `${path}: ${text}`)}}`,
    `snapshots {${Object.entries(snapshots).map(([by, { status, name, files: its }]) => `${by}: ${status} name=${name} ${JSON.stringify(its)}`)}}`,
    `previews {${Object.entries(previews).map(([by, { port, is }]) => `${by}: ${port} ${is}`)}}`
  ].join(", ")
