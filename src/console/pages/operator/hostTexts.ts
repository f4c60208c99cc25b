/** Texts about a host. A host's own texts are untrusted: they are shown on one line, without characters that would hide or reorder other text. */
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

const snapshotsOnlyOn = (snapshots: Host["snapshots"]): ReadonlyArray<string> => {
  if (snapshots === null || snapshots.onlyHere === 0) return []
  const { onlyHere, withMemory } = snapshots
  const still = onlyHere === 1 ? "1 snapshot is still only here" : `${onlyHere} snapshots are still only here`
  return [withMemory === 0 ? `${still}.` : `${still}, ${withMemory} with memory, which cannot be copied.`]
}

/** The reasons for its state, and what comes next; each is a sentence. */
export const remarksOf = ({
  reason,
  networkRefused,
  sandboxes,
  snapshots,
  wish,
  state,
  asked
}: Host): ReadonlyArray<string> => [
  ...(reason === null ? [] : [oneLine(reason.message)]),
  ...(networkRefused === null ? [] : [`No network: ${oneLine(networkRefused)}.`]),
  ...(sandboxes.missing === 0 ? [] : [`${sandboxes.missing} of its volumes are missing.`]),
  ...snapshotsOnlyOn(snapshots),
  ...(wish === "open" || wish === state ? [] : [`Requested state: ${wish}.`]),
  ...(asked === null ? [] : [`No service has received this request yet: ${wishWords[asked]}.`])
]
