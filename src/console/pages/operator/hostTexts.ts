/** Texts about a host. A host's own texts are untrusted: they are shown on one line, without characters that would hide or reorder other text. */
import { onlyHere } from "../../../../machines/hostRemoval.ts"
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

const lostWith = ({ snapshots, images }: Host) =>
  onlyHere({
    snapshots: snapshots?.onlyHere ?? 0,
    bound: snapshots?.withMemory ?? 0,
    images: images?.onlyHere ?? 0
  })

/** The reasons for its state, and what comes next; each is a sentence. */
export const remarksOf = (host: Host): ReadonlyArray<string> => {
  const { reason, networkRefused, sandboxes, wish, state, asked } = host
  return [
    ...(reason === null ? [] : [oneLine(reason.message)]),
    ...(networkRefused === null ? [] : [`No network: ${oneLine(networkRefused)}.`]),
    ...(sandboxes.missing === 0 ? [] : [`${sandboxes.missing} of its volumes are missing.`]),
    ...lostWith(host),
    ...(wish === "open" || wish === state ? [] : [`Requested state: ${wish}.`]),
    ...(asked === null ? [] : [`No service has received this request yet: ${wishWords[asked]}.`])
  ]
}
