/** What a client can do to one Sandbox, and what it is answered: the words of the contract in `contract.ts`. */

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

/** Each names the Sandbox by its creator's Idempotency-Key. */
export type Does = { readonly sandbox: string } & (
  | { readonly type: "create"; readonly name: string }
  | { readonly type: "get" | "list" | "log" | "stop" | "delete" }
  | { readonly type: "start"; readonly key: string | null }
  /** Absent: it stays. */
  | { readonly type: "patch"; readonly name?: string | null; readonly label?: string }
  | { readonly type: "begin" | "look" | "wait" | "cancel"; readonly command: Command }
  | { readonly type: "commands" }
  | { readonly type: "write"; readonly path: string; readonly text: string }
  /** Replaces the text if it is still the expected one. */
  | { readonly type: "edit"; readonly path: string; readonly expected: string; readonly text: string }
  | { readonly type: "read" | "remove"; readonly path: string }
)
export type DoesType = Does["type"]
export type DoesOf<T extends DoesType, D = Does> = D extends { readonly type: infer U }
  ? T extends U
    ? D & { readonly type: T }
    : never
  : never

export interface SandboxSeen {
  readonly id: string
  readonly status: string
  readonly generation: number
  readonly name: string | null
  /** The value of one metadata key. */
  readonly label: string
}

export interface CommandSeen {
  readonly by: string
  readonly id: string
  readonly status: string
  readonly exitCode: number | null
  /** All that may never change once the status is terminal. */
  readonly result: string
}

export type Answer = {
  /** From the request to its answer. */
  readonly ms: number
} & (
  | { readonly is: "sandbox"; readonly http: number; readonly sandbox: SandboxSeen }
  | { readonly is: "sandboxes"; readonly sandboxes: ReadonlyArray<SandboxSeen> }
  /** The statuses in their order, and how often a client's change was committed. */
  | { readonly is: "log"; readonly statuses: ReadonlyArray<string>; readonly changes: number }
  | { readonly is: "command"; readonly command: CommandSeen }
  | { readonly is: "commands"; readonly commands: ReadonlyArray<CommandSeen> }
  | { readonly is: "done" }
  | { readonly is: "text"; readonly text: string }
  /** `status`: the Sandbox's, where the error names it. `actual`: the file's text, where the error names its digest. */
  | { readonly is: "refused"; readonly code: string; readonly status: string | null; readonly actual?: string }
)
export type AnswerIs = Answer["is"]
export type AnswerOf<I extends AnswerIs> = Extract<Answer, { readonly is: I }>

const sandboxText = ({ status, generation, name, label }: SandboxSeen) =>
  `${status} #${generation} name=${name} label=${label}`
const commandText = ({ by, status, exitCode }: CommandSeen) =>
  `${by}:${status}${exitCode === null ? "" : ` ${exitCode}`}`

const answerText = (answer: Answer): string => {
  switch (answer.is) {
    case "sandbox":
      return `${answer.http} ${sandboxText(answer.sandbox)}`
    case "sandboxes":
      return `[${answer.sandboxes.map(sandboxText)}]`
    case "log":
      return `${answer.statuses.join(" ")}, ${answer.changes} changes`
    case "command":
      return commandText(answer.command)
    case "commands":
      return `[${answer.commands.map(commandText)}]`
    case "text":
      return JSON.stringify(answer.text)
    case "refused":
      return [answer.code, answer.status, answer.actual].filter(Boolean).join(" ")
    case "done":
      return "done"
  }
}

export const callText = ({ sandbox: _, type, ...words }: Does, answer: Answer | null): string => {
  const said = Object.values(words).map((word) => (typeof word === "object" && word !== null ? word.by : word))
  return `${[type, ...said].join(" ")} → ${answer === null ? "?" : answerText(answer)}`
}
