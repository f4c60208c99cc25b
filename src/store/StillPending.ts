/** The log's list of commands of earlier transitions that were still pending at a transition. */
import type { PendingCommand } from "./JournalRecord.ts"

export const stillPendingText = (commands: ReadonlyArray<PendingCommand>): string =>
  commands.map(({ key }) => key).join(" ")

/** Each by the revision of its transition and its index in it. Null: the transition is too old to have the list. */
export const stillPendingOf = (
  text: string | null
): ReadonlyArray<{ readonly revision: number; readonly index: number }> | null =>
  text === null
    ? null
    : [...text.matchAll(/(\d+)\.(\d+)/g)].map(([, revision, index]) => ({
        revision: Number(revision),
        index: Number(index)
      }))
