/** `atoll sandbox show` */
import type { Sandbox } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { answer } from "../standardStreams.ts"
import { list, shownBytes, shownTime } from "../table.ts"

const seconds = (count: number | null, at: string | null): string | null =>
  count === null ? null : `${count} s${at === null ? "" : ` (${shownTime(at)})`}`

const checkpointsOf = ({ checkpoints, lastCheckpoint }: Sandbox): string | null => {
  if (checkpoints === null) return null
  const { everySeconds, onStop, keep, nextAt } = checkpoints
  const times = [everySeconds === null ? [] : `every ${everySeconds} s`, onStop ? "at each stop" : []]
    .flat()
    .join(" and ")
  const next = nextAt === null ? "" : `, the next ${shownTime(nextAt)}`
  const error = lastCheckpoint?.error ? `; the last was refused: ${lastCheckpoint.error.message}` : ""
  return `${times}; ${keep} stay${next}${error}`
}

const rowsOf = (sandbox: Sandbox): ReadonlyArray<readonly [string, string]> => {
  const { profile, lifetime, statusReason, metadata } = sandbox
  const rows: ReadonlyArray<readonly [string, string | null]> = [
    ["id", sandbox.id],
    ["name", sandbox.name],
    ["status", sandbox.status + (statusReason === null ? "" : `: ${statusReason.message}`)],
    ["workspace", sandbox.workspaceId],
    ["runtime", `${sandbox.runtime}, ${profile.vcpus} vCPU, ${shownBytes(profile.memoryBytes)} of memory`],
    ["volume", shownBytes(sandbox.volume.sizeBytes)],
    ["network", sandbox.networkEnabled ? "yes" : "no"],
    ["variables", sandbox.envNames.join(" ") || null],
    ...Object.entries(metadata).map(([key, value]) => ["metadata", `${key}=${value}`] as const),
    ["stops after", seconds(lifetime.stopAfterSeconds, lifetime.stopAt)],
    ["when idle for", seconds(lifetime.stopAfterIdleSeconds, lifetime.idleStopAt)],
    ["deleted after", seconds(lifetime.deleteAfterStoppedSeconds, lifetime.deleteAt)],
    ["checkpoints", checkpointsOf(sandbox)],
    ["created", shownTime(sandbox.createdAt)],
    ["started", sandbox.startedAt === null ? null : `${shownTime(sandbox.startedAt)} (boot ${sandbox.generation})`],
    ["stopped", sandbox.stoppedAt === null ? null : shownTime(sandbox.stoppedAt)],
    ["deleted", sandbox.deletedAt === null ? null : shownTime(sandbox.deletedAt)]
  ]
  return rows.filter((row): row is readonly [string, string] => row[1] !== null)
}

export const show = command({
  name: "show",
  summary: "Show one Sandbox",
  usage: "SANDBOX",
  options: {},
  words: { least: 1, most: 1, completes: ["sandbox"] },
  examples: [
    ["sandbox show dev", "By its name"],
    ["sandbox show --json dev | jq -r .sandbox.status", "For a program"]
  ],
  run: async (given) => {
    const { record } = await namedSandbox(given.connect(), given.words[0]!)
    await answer(given, () => list(rowsOf(record)), { sandbox: record })
    return exitCodes.done
  }
})
