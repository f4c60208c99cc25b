/** Which Sandboxes are shown. */

import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { isRemoved } from "../states.ts"

export interface Filter {
  /** A status, `kept` (all but deleted and expired ones) or `all`. */
  readonly status: string
  /** An id; empty: any. */
  readonly workspaceId: string
  /** All words must be in its name, its id or its metadata; `key=value` matches a pair of its metadata. */
  readonly words: string
}

export const everything: Filter = { status: "kept", workspaceId: "", words: "" }

const hasStatus = ({ status }: Sandbox, wanted: string): boolean =>
  wanted === "all" || (wanted === "kept" ? !isRemoved(status) : status === wanted)

/** A metadata value of several words matches `key=FIRST` by its first word, and each other word alone. */
const hasWord = ({ id, name, metadata }: Sandbox, word: string): boolean => {
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value}`.toLowerCase())
  const texts = [id, (name ?? "").toLowerCase()]
  return word.includes("=")
    ? pairs.some((pair) => pair === word || pair.startsWith(`${word} `)) || texts.some((text) => text.includes(word))
    : [...texts, ...pairs].some((text) => text.includes(word))
}

export const filtered = (sandboxes: ReadonlyArray<Sandbox>, filter: Filter): ReadonlyArray<Sandbox> => {
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean)
  return sandboxes.filter(
    (sandbox) =>
      hasStatus(sandbox, filter.status) &&
      (filter.workspaceId === "" || sandbox.workspaceId === filter.workspaceId) &&
      words.every((word) => hasWord(sandbox, word))
  )
}
