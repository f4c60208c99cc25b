/** What is told of a host. Whatever it says of itself is text from elsewhere: shown in one line, without what would turn or hide other text. */
import type { Host } from "../../../../schemas/console/Hosts.ts"
import { oneLine } from "../characterPicture.ts"
import { duration } from "../format.ts"

export const labelOf = ({ label }: Host): string => oneLine(label)

export const seenOf = ({ joinedAt, seenSecondsAgo }: Host): string =>
  Date.parse(joinedAt) === 0 ? "never" : `${duration(seenSecondsAgo)} ago`

const wishWords: Readonly<Record<NonNullable<Host["asked"]>, string>> = {
  CORDON: "cordon",
  DRAIN: "drain",
  UNCORDON: "uncordon",
  REMOVE: "remove",
  REMOVE_FORCED: "remove by force"
}

/** Why it is as it is, and what comes; each in a sentence. */
export const remarksOf = ({ reason, networkRefused, sandboxes, wish, state, asked }: Host): ReadonlyArray<string> => [
  ...(reason === null ? [] : [oneLine(reason.message)]),
  ...(networkRefused === null ? [] : [`No network: ${oneLine(networkRefused)}.`]),
  ...(sandboxes.missing === 0 ? [] : [`${sandboxes.missing} of its volumes are not there.`]),
  ...(wish === "open" || wish === state ? [] : [`It is to be ${wish}.`]),
  ...(asked === null ? [] : [`No service has heard yet: ${wishWords[asked]}.`])
]
