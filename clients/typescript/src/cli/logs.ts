/** `atoll logs` */
import type { LogEntry } from "../generated/schemas.ts"
import { command } from "./Command.ts"
import { exitCodes, WrongUsage } from "./failure.ts"
import { followLog, type LogFilter } from "./followLog.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { plainColoured } from "./plainText.ts"
import { jsonOf, remark, write, writeLine } from "./standardStreams.ts"
import { shownTime } from "./table.ts"
import { instant, oneOf, whole } from "./values.ts"

/** How long an absent service is retried while it is followed. */
const patienceSeconds = 600
const linesMax = 5000
const followedMax = 1000

const shown = ({ at, stream, source, text }: LogEntry, isMarked: boolean): string => {
  const plain = process[stream].isTTY ? plainColoured(text) : text
  if (!isMarked) return plain
  const mark = `${shownTime(at)} ${source} ${stream} | `
  return `${plain.replace(/\n$/, "").replace(/^/gm, mark)}\n`
}

export const logs = command({
  name: "logs",
  summary: "Show what the commands of a Sandbox wrote",
  usage: "SANDBOX [-f] [OPTIONS]",
  details:
    "What went to stdout and stderr goes to stdout and stderr. On a terminal nothing of it but colours is obeyed.\nWith --json one document; with -f one entry a line.",
  options: {
    follow: { type: "boolean", short: "f", description: "Go on with what is written from now on" },
    since: { type: "string", value: "TIME", description: "Only from then on: 2026-01-31T12:00:00Z, or 15m ago" },
    until: { type: "string", value: "TIME", description: "Only before then" },
    limit: {
      type: "string",
      value: "COUNT",
      description: `The newest so many entries; 1000 by default, at most ${linesMax}`
    },
    stream: { type: "string", value: "STREAM", description: "stdout or stderr", completes: ["stdout", "stderr"] },
    source: {
      type: "string",
      value: "SOURCE",
      description: "workload (the console), execute, or process (operations)",
      completes: ["workload", "execute", "process"]
    },
    operation: { type: "string", value: "ID", description: "Only what this operation wrote" },
    timestamps: { type: "boolean", short: "t", description: "When, by what, and on which stream, before each line" }
  },
  words: { least: 1, most: 1, completes: ["sandbox"] },
  examples: [
    ["logs -f dev", "Follow, until Ctrl-C"],
    ["logs dev --since 15m --stream stderr -t", "The errors of the last quarter of an hour"]
  ],
  run: async (given) => {
    const { follow, since, until, limit, stream, source, operation, timestamps } = given.options
    const isFollowing = follow === true
    if (isFollowing && until !== undefined) throw new WrongUsage("What is followed has no end: -f or --until.")
    const filter: LogFilter = {
      since: since === undefined ? undefined : instant("--since", since),
      stream: stream === undefined ? undefined : oneOf("--stream", stream, ["stdout", "stderr"]),
      source: source === undefined ? undefined : oneOf("--source", source, ["workload", "execute", "process"]),
      operationId: operation,
      limit: limit === undefined ? undefined : whole("--limit", limit, 1, isFollowing ? followedMax : linesMax)
    }
    const tell = async (entries: ReadonlyArray<LogEntry>) => {
      for (const entry of entries) await write(process[entry.stream], shown(entry, timestamps === true))
    }
    const atoll = given.connect()
    const { id } = await namedSandbox(atoll, given.words[0]!)
    if (isFollowing) {
      for await (const { entries, truncated } of followLog(given.connect(patienceSeconds).api, id, filter)) {
        if (truncated && limit === undefined) remark("There is more before this: --limit and --since show it.")
        if (given.isJson) for (const entry of entries) await writeLine(jsonOf(entry))
        else await tell(entries)
      }
      return exitCodes.done
    }
    const parameters = { id, ...filter, until: until === undefined ? undefined : instant("--until", until) }
    const { logs: found } = await atoll.api.call("readLogs", { parameters })
    if (given.isJson) await writeLine(jsonOf({ logs: found }, 2))
    else await tell(found.entries)
    if (found.truncated && limit === undefined) remark("There is more before this: --limit and --since show it.")
    return exitCodes.done
  }
})
