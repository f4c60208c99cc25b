/** Which commands of earlier transitions were not done yet when one was taken, as the log keeps it. */
import type { PendingCommand } from "./JournalRecord.ts"

export const stillPendingText = (commands: ReadonlyArray<PendingCommand>): string =>
  commands.map(({ key }) => key).join(" ")

/** Each by its transition and its place among that one's commands. Null: not known of a transition so old. */
export const stillPendingOf = (
  text: string | null
): ReadonlyArray<{ readonly revision: number; readonly index: number }> | null =>
  text === null
    ? null
    : [...text.matchAll(/(\d+)\.(\d+)/g)].map(([, revision, index]) => ({
        revision: Number(revision),
        index: Number(index)
      }))
