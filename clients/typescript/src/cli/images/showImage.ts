/** `atoll images show` */
import type { Image } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedImage } from "../namedImage.ts"
import { answer } from "../standardStreams.ts"
import { list, shownBytes, shownTime } from "../table.ts"

const bytes = (count: number | null): string | null => (count === null ? null : shownBytes(count))
const time = (instant: string | null): string | null => (instant === null ? null : shownTime(instant))

const rowsOf = (image: Image): ReadonlyArray<readonly [string, string]> => {
  const { statusReason } = image
  const rows: ReadonlyArray<readonly [string, string | null]> = [
    ["id", image.id],
    ["name", image.name],
    ["status", image.status + (statusReason === null ? "" : `: ${statusReason.message}`)],
    ["build", image.build === null ? null : `${image.build.sandboxId} ${image.build.operationId ?? ""}`.trim()],
    ["reference", image.reference ?? (image.build === null ? "uploaded" : "built")],
    ["digest", image.digest],
    ["unpacked", bytes(image.sizeBytes)],
    ["stored", bytes(image.storedBytes)],
    ["created", shownTime(image.createdAt)],
    ["ready", time(image.readyAt)],
    ["deleted", time(image.deletedAt)]
  ]
  return rows.filter((row): row is readonly [string, string] => row[1] !== null)
}

export const show = command({
  name: "show",
  summary: "Show one image",
  usage: "IMAGE",
  options: {},
  words: { least: 1, most: 1, completes: ["image"] },
  examples: [
    ["images show tools", "By its name"],
    ["images show --json tools | jq -r .image.status", "For a program"]
  ],
  run: async (given) => {
    const { record } = await namedImage(given.connect(), given.words[0]!)
    await answer(given, () => list(rowsOf(record)), { image: record })
    return exitCodes.done
  }
})
