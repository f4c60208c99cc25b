/** `atoll snapshots show` */
import type { Snapshot } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSnapshot } from "../namedSnapshot.ts"
import { answer } from "../standardStreams.ts"
import { list, shownBytes, shownTime } from "../table.ts"

const bytes = (count: number | null): string | null => (count === null ? null : shownBytes(count))
const time = (instant: string | null): string | null => (instant === null ? null : shownTime(instant))

const rowsOf = (snapshot: Snapshot): ReadonlyArray<readonly [string, string]> => {
  const { profile, statusReason, metadata, pausedMs, memory } = snapshot
  const rows: ReadonlyArray<readonly [string, string | null]> = [
    ["id", snapshot.id],
    ["name", snapshot.name],
    ["status", snapshot.status + (statusReason === null ? "" : `: ${statusReason.message}`)],
    [
      "sandbox",
      snapshot.sandboxId === null
        ? "none: it was imported"
        : `${snapshot.sandboxId} (boot ${snapshot.generation}, revision ${snapshot.sandboxRevision})`
    ],
    ["workspace", snapshot.workspaceId],
    ["runtime", `${snapshot.runtime}, ${profile.vcpus} vCPU, ${shownBytes(profile.memoryBytes)} of memory`],
    ["volume", bytes(snapshot.sizeBytes)],
    ["memory", memory ? "with its running processes" : null],
    ["stored", bytes(snapshot.storedBytes)],
    ["writers waited", pausedMs === null ? null : `${pausedMs} ms`],
    ["variables", snapshot.envNames.join(" ") || null],
    ...Object.entries(metadata).map(([key, value]) => ["metadata", `${key}=${value}`] as const),
    ["created", shownTime(snapshot.createdAt)],
    ["ready", time(snapshot.readyAt)],
    ["expires", time(snapshot.expiresAt)],
    ["deleted", time(snapshot.deletedAt)]
  ]
  return rows.filter((row): row is readonly [string, string] => row[1] !== null)
}

export const show = command({
  name: "show",
  summary: "Show one snapshot",
  usage: "SNAPSHOT",
  options: {},
  words: { least: 1, most: 1, completes: ["snapshot"] },
  examples: [
    ["snapshots show before-migration", "By its name"],
    ["snapshots show --json before-migration | jq -r .snapshot.status", "For a program"]
  ],
  run: async (given) => {
    const { record } = await namedSnapshot(given.connect(), given.words[0]!)
    await answer(given, () => list(rowsOf(record)), { snapshot: record })
    return exitCodes.done
  }
})
