/** Calls and their answers for people. */
import type { Answer, CommandSeen, Does, SandboxSeen, SnapshotSeen } from "./calls.ts"

const sandboxText = ({ status, reason, generation, name, label, rollback }: SandboxSeen) =>
  `${status}${reason === null ? "" : ` (${reason})`} #${generation} name=${name} label=${label}${rollback === null ? "" : ` rollback=${rollback}`}`
const commandText = ({ by, status, exitCode }: CommandSeen) =>
  `${by}:${status}${exitCode === null ? "" : ` ${exitCode}`}`

const snapshotText = ({ status, name }: SnapshotSeen) => `${status} name=${name}`

const answerText = (answer: Answer): string => {
  switch (answer.is) {
    case "sandbox":
      return `${answer.http} ${sandboxText(answer.sandbox)}`
    case "sandboxes":
      return `[${answer.sandboxes.map(sandboxText)}]`
    case "log":
      return answer.entries.join(" ")
    case "command":
      return commandText(answer.command)
    case "commands":
      return `[${answer.commands.map(commandText)}]`
    case "output":
      return `${JSON.stringify(answer.text)}${answer.eof ? " eof" : ""}`
    case "text":
      return JSON.stringify(answer.text)
    case "ran":
      return `${answer.exitCode} ${JSON.stringify(answer.text)}`
    case "preview":
      return `${answer.id.slice(0, 6)}… port ${answer.port}`
    case "previews":
      return `active [${answer.active}]`
    case "visited":
      return answer.how
    case "snapshot":
      return snapshotText(answer.snapshot)
    case "children":
      return `${answer.snapshot === null ? "" : `${snapshotText(answer.snapshot)} `}[${answer.ids}]`
    case "rolledBack":
      return `${sandboxText(answer.sandbox)}, kept ${snapshotText(answer.kept)}`
    case "listens":
      return `after ${answer.after}`
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
