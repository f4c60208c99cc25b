/** `atoll sandbox list` */
import type { Sandbox, SandboxStatus } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { present } from "../namedSandbox.ts"
import { namedWorkspace } from "../namedWorkspace.ts"
import { answer } from "../standardStreams.ts"
import { shownAge, table } from "../table.ts"
import { oneOf, pairs } from "../values.ts"

const statuses: ReadonlyArray<SandboxStatus> = [...present, "deleted", "expired"]

const columns = [
  { name: "ID", isWhole: true },
  { name: "NAME" },
  { name: "STATUS", isWhole: true },
  { name: "AGE", isWhole: true },
  { name: "METADATA" }
]

export const list = command({
  name: "list",
  summary: "List Sandboxes, the newest first",
  usage: "[--all] [--status STATUS] [--workspace WORKSPACE]",
  options: {
    all: { type: "boolean", short: "a", description: "Deleted ones, too" },
    status: {
      type: "string",
      multiple: true,
      value: "STATUS",
      description: "Only those that are so; may be repeated",
      completes: statuses
    },
    workspace: { type: "string", value: "WORKSPACE", description: "Only those in this one: name or id" },
    metadata: {
      type: "string",
      multiple: true,
      value: "KEY=VALUE",
      description: "Only those that have this; may be repeated"
    },
    quiet: { type: "boolean", short: "q", description: "Only their ids" }
  },
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["sandbox list", "Lists Sandboxes"],
    ["sandbox list --status running --metadata team=blue", "Those that run and are so marked"],
    ["sandbox list --json | jq -r '.sandboxes[].id'", "For a program"]
  ],
  run: async (given) => {
    const { all, status, workspace, metadata, quiet } = given.options
    const wanted = status?.map((one) => oneOf("--status", one, statuses)) ?? (all === true ? undefined : present)
    const sandboxes: Array<Sandbox> = []
    const atoll = given.connect()
    const workspaceId = workspace === undefined ? undefined : (await namedWorkspace(atoll, workspace)).id
    const asked = { status: wanted, workspaceId, metadata: pairs("--metadata", metadata) }
    for await (const { record } of atoll.sandboxes.list(asked)) sandboxes.push(record)
    const prose = () =>
      quiet === true
        ? sandboxes.map(({ id }) => id).join("\n")
        : table(
            columns,
            sandboxes.map(({ id, name, status, createdAt, metadata }) => [
              id,
              name ?? "-",
              status,
              shownAge(createdAt),
              Object.entries(metadata)
                .map(([key, value]) => `${key}=${value}`)
                .join(" ")
            ])
          )
    await answer(given, prose, { sandboxes, nextCursor: null })
    return exitCodes.done
  }
})
