/** Unsaved changes, kept until the page is closed: they survive a visit to another part of the console. */
import type { Base } from "./guardedWrite.ts"

export interface Draft {
  readonly base: Base
  /** In the form of the text field. */
  readonly lines: string
}

const drafts = new Map<string, Draft>()

const keyOf = (sandboxId: string, path: string): string => `${sandboxId} ${path}`

const leaving = (event: BeforeUnloadEvent): void => event.preventDefault()

export const draftOf = (sandboxId: string, path: string): Draft | null => drafts.get(keyOf(sandboxId, path)) ?? null

/** @param draft Null: removes it. */
export const keepDraft = (sandboxId: string, path: string, draft: Draft | null): void => {
  if (draft === null) drafts.delete(keyOf(sandboxId, path))
  else drafts.set(keyOf(sandboxId, path), draft)
  if (drafts.size > 0) addEventListener("beforeunload", leaving)
  else removeEventListener("beforeunload", leaving)
}
