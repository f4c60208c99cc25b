/** `atoll events` */
import type { Atoll } from "../Atoll.ts"
import type { InnerTransition } from "../generated/schemas.ts"
import { paged } from "../http/paged.ts"
import { command, type Given } from "./Command.ts"
import { exitCodes, WrongUsage } from "./failure.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { plain } from "./plainText.ts"
import { answer, jsonOf, writeLine } from "./standardStreams.ts"
import { shownTime, table } from "./table.ts"

/** How long an absent service is retried while it is followed. */
const patienceSeconds = 600

type Event = Omit<InnerTransition, "kind"> & { readonly kind: InnerTransition["kind"] | "sandbox" }

const cellsOf = ({ at, kind, actorId, event, from, to, cause }: Event): ReadonlyArray<string> => [
  shownTime(at),
  kind,
  actorId,
  event.type,
  from === null || from === to ? to : `${from} → ${to}`,
  cause
]

const columns = [
  { name: "AT", isWhole: true },
  { name: "KIND" },
  { name: "OF", isWhole: true },
  { name: "EVENT" },
  { name: "STATUS" },
  { name: "CAUSE" }
]

/** The Sandbox's own transitions, and those of everything that lived in it, oldest first. */
const pastOf = async (atoll: Atoll, sandboxId: string): Promise<ReadonlyArray<Event>> => {
  const past: Array<Event> = []
  const { api } = atoll
  for await (const page of paged((cursor) =>
    api.call("listSandboxTransitions", { parameters: { id: sandboxId, limit: 1000, cursor } })
  )) {
    for (const transition of page.transitions)
      past.push({ ...transition, kind: "sandbox", actorId: sandboxId, sandboxId })
  }
  for await (const page of paged((cursor) =>
    api.call("listSandboxHistory", { parameters: { id: sandboxId, limit: 1000, cursor } })
  )) {
    past.push(...page.transitions)
  }
  return past.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.revision - b.revision))
}

const follow = async (given: Given, sandboxId: string | null, after: string | undefined): Promise<number> => {
  const patient = given.connect(patienceSeconds)
  const events =
    sandboxId === null ? patient.events({ after }) : (await patient.sandboxes.get(sandboxId)).events({ after })
  for await (const event of events) {
    const line = given.isJson ? jsonOf(event) : cellsOf(event).map(plain).join("  ")
    await writeLine(line)
  }
  return exitCodes.done
}

export const events = command({
  name: "events",
  summary: "Show what happened to Sandboxes and to all that is in them",
  usage: "[SANDBOX] [-f] [--after POSITION]",
  details:
    "Each is a transition of a state machine: a Sandbox's, an operation's, a preview's. With -f they come as they are\ncommitted, each once, over lost connections. With --json one document; with -f one event a line, with its position.",
  options: {
    follow: { type: "boolean", short: "f", description: "From now on, until Ctrl-C" },
    after: {
      type: "string",
      value: "POSITION",
      description: "Follow from behind this event: the `position` of one that was seen"
    }
  },
  words: { least: 0, most: 1, completes: ["sandbox"] },
  examples: [
    ["events dev", "All that happened in one Sandbox"],
    ["events -f", "All that happens from now on"],
    ['events -f --json | jq -r \'select(.kind == "operation") | .actorId + " " + .to\'', "For a program"]
  ],
  run: async (given) => {
    const { after } = given.options
    const isFollowing = given.options.follow === true || after !== undefined
    const [nameOrId] = given.words
    if (!isFollowing && nameOrId === undefined) {
      throw new WrongUsage(
        "What happened is shown of one Sandbox: name it. Or follow what happens to all of them, with -f."
      )
    }
    const atoll = given.connect()
    const sandboxId = nameOrId === undefined ? null : (await namedSandbox(atoll, nameOrId)).id
    if (isFollowing) return follow(given, sandboxId, after)
    const past = await pastOf(atoll, sandboxId!)
    await answer(given, () => table(columns, past.map(cellsOf)), { transitions: past })
    return exitCodes.done
  }
})
