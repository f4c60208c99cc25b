/** Changes that are not saved yet, kept while the page is: who goes to another part of it and comes back finds them. */
import type { Base } from "./guardedWrite.ts"

export interface Draft {
  readonly base: Base
  /** As the field for text has it. */
  readonly lines: string
}

const drafts = new Map<string, Draft>()

const keyOf = (sandboxId: string, path: string): string => `${sandboxId} ${path}`

const leaving = (event: BeforeUnloadEvent): void => event.preventDefault()

export const draftOf = (sandboxId: string, path: string): Draft | null => drafts.get(keyOf(sandboxId, path)) ?? null

/** @param draft Null: there is none any more. */
export const keepDraft = (sandboxId: string, path: string, draft: Draft | null): void => {
  if (draft === null) drafts.delete(keyOf(sandboxId, path))
  else drafts.set(keyOf(sandboxId, path), draft)
  if (drafts.size > 0) addEventListener("beforeunload", leaving)
  else removeEventListener("beforeunload", leaving)
}
