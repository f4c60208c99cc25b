/** What a client can do to one Sandbox, and what it is answered: the words of the contract in `contract/`. */

/** `by`: the client's own name for a command, sent as its Idempotency-Key; `ends`: its exit code, null where it never ends by itself. */
export interface Command {
  readonly by: string
  readonly ends: number | null
}

/** A command's name says how it ends: `3-hangs`, `4-exits-7`. */
export const commandOf = (by: string): Command => {
  const code = /-exits-(\d+)$/.exec(by)?.[1]
  return { by, ends: code === undefined ? null : Number(code) }
}

/** All that its program writes, if it is not ended earlier. */
export const outputOf = ({ by, ends }: Command): string => `${by} begins\n${ends === null ? "" : `${by} ends\n`}`

/** A word of the contract for each type, with what is said beside it. */
type Words<T extends string, Said = unknown> = T extends unknown ? { readonly type: T } & Said : never

/** Foresight: no answer tells its files. */
interface Unread {
  readonly isUnread?: boolean
}

/** Each names the Sandbox by its creator's Idempotency-Key. */
export type Does = { readonly sandbox: string } & (
  | Words<"create", { readonly name: string; readonly hasNetwork: boolean }>
  | Words<"get" | "list" | "log" | "stop" | "delete">
  | Words<"start", { readonly key: string | null }>
  /** Absent: it stays. */
  | Words<"patch", { readonly name?: string | null; readonly label?: string }>
  | Words<"begin" | "look" | "wait" | "cancel", { readonly command: Command }>
  /** `output` reads what is stored from this byte on, to its end. `follow` gets output for a while. */
  | Words<"output" | "follow", { readonly command: Command; readonly from: number }>
  | Words<"commands">
  | Words<"write", { readonly path: string; readonly text: string }>
  /** Replaces the text if it is still the expected one. */
  | Words<"edit", { readonly path: string; readonly expected: string; readonly text: string }>
  /** `archived`: what an archive of the folder has of this file. */
  | Words<"read" | "remove" | "archived", { readonly path: string }>
  /** Runs a program and waits for it: it writes the file's text to its output, and ends with that code. */
  | Words<"execute", { readonly path: string; readonly exits: number }>
  /** Opens a preview, which the client calls `by`. `alongside`: beside those of other ports. */
  | Words<"open", { readonly by: string; readonly port: number; readonly alongside: boolean }>
  | Words<"lookUp", { readonly port: number }>
  | Words<"previews" | "closeAll">
  /** Of a preview whose id is known; `visit` is a request through its host name. */
  | Words<"close" | "visit", { readonly id: string }>
  /** Takes a snapshot, which the client calls `by`: its Idempotency-Key. */
  | Words<"snap", { readonly by: string; readonly name: string } & Unread>
  | Words<"snapGet" | "snapDelete", { readonly by: string }>
  | Words<"snapPatch", { readonly by: string; readonly name: string }>
  /** Makes a Sandbox of the snapshot `of`. Nothing changes its files. */
  | Words<"child", { readonly by: string; readonly of: string }>
  /** A snapshot and so many Sandboxes of it, which are called `by/0`, `by/1`, … */
  | Words<"fork", { readonly by: string; readonly count: number } & Unread>
  /** Rolls it back to the snapshot `of`; its volume before becomes the snapshot `by`, which is its Idempotency-Key, too. */
  | Words<"rollback", { readonly by: string; readonly of: string } & Unread>
  /** A file of a Sandbox that was made of a snapshot. */
  | Words<"childRead", { readonly by: string; readonly path: string }>
  /** A stream of events begins. */
  | Words<"listen">
  /** A stream that had told the first `after` entries of the log, or began behind them, goes on. `toEnd`: for as long as something is left to tell. */
  | Words<"told", { readonly after: number; readonly toEnd: boolean }>
)
export type DoesType = Does["type"]
export type DoesOf<T extends DoesType> = Extract<Does, { readonly type: T }>

export interface SandboxSeen {
  readonly id: string
  readonly status: string
  /** The code of the reason for its status. */
  readonly reason: string | null
  readonly generation: number
  readonly name: string | null
  /** Of its metadata the one value that clients change; the others are in `fixed`. */
  readonly label: string
  /** All that never changes. */
  readonly fixed: string
  /** When its status last changed. */
  readonly changedAt: string
  /** What became of its last rollback; null: it had none. */
  readonly rollback: string | null
}

export interface CommandSeen {
  readonly by: string
  readonly id: string
  readonly status: string
  readonly exitCode: number | null
  /** The code of the reason for its status. */
  readonly reason: string | null
  /** All that may never change once the status is terminal. */
  readonly result: string
  /** All that never changes. */
  readonly fixed: string
}

export interface SnapshotSeen {
  readonly id: string
  readonly status: string
  readonly name: string | null
  /** All that never changes. */
  readonly fixed: string
}

export type Answer = {
  /** From the request to its answer. */
  readonly ms: number
} & (
  | { readonly is: "sandbox"; readonly http: number; readonly sandbox: SandboxSeen }
  | { readonly is: "sandboxes"; readonly sandboxes: ReadonlyArray<SandboxSeen> }
  /** Statuses, changes, and starts and stops of a Sandbox that was stopping already, in the order in which they were committed. */
  | { readonly is: "log"; readonly entries: ReadonlyArray<string> }
  | { readonly is: "command"; readonly command: CommandSeen }
  | { readonly is: "commands"; readonly commands: ReadonlyArray<CommandSeen> }
  /** `eof`: the command is over, and this is the end of what it wrote. */
  | { readonly is: "output"; readonly text: string; readonly eof: boolean }
  | { readonly is: "done" }
  /** Null: there is no such file in it. */
  | { readonly is: "text"; readonly text: string | null }
  | { readonly is: "ran"; readonly exitCode: number | null; readonly text: string | null }
  | { readonly is: "preview"; readonly id: string; readonly port: number }
  /** The ports of those that are shown as active. */
  | { readonly is: "previews"; readonly active: ReadonlyArray<number> }
  /** `reached`: it was passed into the Sandbox. `unknown`: there is no such preview. `failed`: neither. */
  | { readonly is: "visited"; readonly how: "reached" | "unknown" | "failed" }
  | { readonly is: "snapshot"; readonly snapshot: SnapshotSeen }
  /** The Sandboxes that were made of a snapshot, in order. `snapshot`: null, unless a fork took it. `isWhole`: none was refused. */
  | {
      readonly is: "children"
      readonly snapshot: SnapshotSeen | null
      readonly ids: ReadonlyArray<string>
      readonly isWhole: boolean
    }
  /** `kept`: of its volume before. */
  | { readonly is: "rolledBack"; readonly sandbox: SandboxSeen; readonly kept: SnapshotSeen }
  /** Before which entry of the log the stream began; null: the client never learned it. */
  | { readonly is: "listens"; readonly after: number | null }
  /** `status`: the Sandbox's, where the error names it. `actual`: the file's text, where the error names its digest. */
  | { readonly is: "refused"; readonly code: string; readonly status: string | null; readonly actual?: string }
)
export type AnswerIs = Answer["is"]
export type AnswerOf<I extends AnswerIs> = Extract<Answer, { readonly is: I }>

export const isOf = <I extends AnswerIs>(answer: Answer | null, is: I): answer is AnswerOf<I> => answer?.is === is
