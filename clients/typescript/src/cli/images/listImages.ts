/** `atoll images list` */
import type { Image, ImageStatus } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { kept } from "../namedImage.ts"
import { answer } from "../standardStreams.ts"
import { shownAge, shownBytes, table } from "../table.ts"
import { oneOf } from "../values.ts"

const statuses: ReadonlyArray<ImageStatus> = [...kept, "deleted"]

const columns = [
  { name: "ID", isWhole: true },
  { name: "NAME" },
  { name: "STATUS", isWhole: true },
  { name: "STORED", isWhole: true },
  { name: "AGE", isWhole: true },
  { name: "OF", isWhole: true },
  { name: "REFERENCE" }
]

const rowOf = ({ id, name, status, storedBytes, createdAt, operator, reference, build }: Image) => [
  id,
  name ?? "-",
  status,
  storedBytes === null ? "-" : shownBytes(storedBytes),
  shownAge(createdAt),
  operator ? "operator" : "account",
  reference ?? (build === null ? "uploaded" : "built")
]

export const list = command({
  name: "list",
  summary: "List images, the newest first",
  usage: "[--name NAME] [--all] [--status STATUS]",
  options: {
    name: { type: "string", value: "NAME", description: "Only those with this name" },
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
    ["images list", "Lists the account's images, and those of the operator"],
    ["images list --json | jq -r '.images[].digest'", "For a program"]
  ],
  run: async (given) => {
    const { name, all, status, quiet } = given.options
    const wanted = status?.map((one) => oneOf("--status", one, statuses)) ?? (all === true ? undefined : kept)
    const images: Array<Image> = []
    for await (const { record } of given.connect().images.list({ name, status: wanted })) images.push(record)
    const prose = () => (quiet === true ? images.map(({ id }) => id).join("\n") : table(columns, images.map(rowOf)))
    await answer(given, prose, { images, nextCursor: null })
    return exitCodes.done
  }
})
