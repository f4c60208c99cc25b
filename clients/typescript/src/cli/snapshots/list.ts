/** `atoll snapshots list` */
import type { Snapshot, SnapshotStatus } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { kept } from "../namedSnapshot.ts"
import { answer } from "../standardStreams.ts"
import { shownAge, shownBytes, shownTime, table } from "../table.ts"
import { oneOf } from "../values.ts"

const statuses: ReadonlyArray<SnapshotStatus> = [...kept, "deleted"]

const columns = [
  { name: "ID", isWhole: true },
  { name: "NAME" },
  { name: "STATUS", isWhole: true },
  { name: "STORED", isWhole: true },
  { name: "AGE", isWhole: true },
  { name: "EXPIRES" },
  { name: "SANDBOX", isWhole: true }
]

const rowOf = ({ id, name, status, storedBytes, createdAt, expiresAt, sandboxId }: Snapshot) => [
  id,
  name ?? "-",
  status,
  storedBytes === null ? "-" : shownBytes(storedBytes),
  shownAge(createdAt),
  shownTime(expiresAt),
  sandboxId ?? "imported"
]

export const list = command({
  name: "list",
  summary: "List snapshots, the newest first",
  usage: "[--sandbox SANDBOX] [--all] [--status STATUS]",
  options: {
    sandbox: {
      type: "string",
      short: "s",
      value: "SANDBOX",
      description: "Only those that were taken of this one",
      completes: "sandbox"
    },
    all: { type: "boolean", short: "a", description: "Deleted ones, too" },
    status: {
      type: "string",
      multiple: true,
      value: "STATUS",
      description: "Only those that are so; may be repeated",
      completes: statuses
    },
    quiet: { type: "boolean", short: "q", description: "Only their ids" }
  },
  words: { least: 0, most: 0, completes: [] },
  examples: [
    ["snapshots list", "Lists the account's snapshots"],
    ["snapshots list --sandbox dev --json | jq -r '.snapshots[].id'", "For a program"]
  ],
  run: async (given) => {
    const { sandbox, all, status, quiet } = given.options
    const wanted = status?.map((one) => oneOf("--status", one, statuses)) ?? (all === true ? undefined : kept)
    const atoll = given.connect()
    const sandboxId = sandbox === undefined ? undefined : (await namedSandbox(atoll, sandbox)).id
    const snapshots: Array<Snapshot> = []
    for await (const { record } of atoll.snapshots.list({ sandboxId, status: wanted })) snapshots.push(record)
    const prose = () =>
      quiet === true ? snapshots.map(({ id }) => id).join("\n") : table(columns, snapshots.map(rowOf))
    await answer(given, prose, { snapshots, nextCursor: null })
    return exitCodes.done
  }
})
