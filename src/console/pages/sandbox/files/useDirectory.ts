/**
 * All entries of a directory. The API returns pages in the file system's own order: they are loaded one after the other, automatically,
 * and shown sorted by name.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import type { FileList, FileStat } from "../../../../../schemas/Files.ts"
import { filePageMax } from "../../../../../schemas/Limits.ts"
import { ApiFault, get } from "../../api.ts"
import { apiOf } from "./address.ts"

export interface Directory {
  /** Directories first, then by name. Null: not loaded yet. */
  readonly entries: ReadonlyArray<FileStat> | null
  /** `changing`: it changed repeatedly while it was read. `cut`: it has more entries than are shown. */
  readonly state: "loading" | "whole" | "changing" | "cut" | "failed"
  readonly fault: unknown
  /** Epoch milliseconds of the last answer. */
  readonly at: number | null
}

/** The most rows that browsers can scroll. */
const entriesMax = 250_000
/** Entries within this time are shown together. */
const showEveryMs = 200
const attempts = 3

/** Like `LC_ALL=C ls --group-directories-first`, but by UTF-16. */
const order = (one: FileStat, other: FileStat): number => {
  if (one.type !== other.type) {
    if (one.type === "directory") return -1
    if (other.type === "directory") return 1
  }
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0
}

/** Merges two sorted lists. */
const merged = (one: ReadonlyArray<FileStat>, other: ReadonlyArray<FileStat>): ReadonlyArray<FileStat> => {
  if (one.length === 0) return other
  const all: Array<FileStat> = []
  for (let left = 0, right = 0; left < one.length || right < other.length; ) {
    const isLeft = right === other.length || (left < one.length && order(one[left]!, other[right]!) <= 0)
    all.push(isLeft ? one[left++]! : other[right++]!)
  }
  return all
}

interface Reading {
  readonly sandboxId: string
  readonly path: string
  readonly signal: AbortSignal
  readonly show: (entries: ReadonlyArray<FileStat>, state: Directory["state"]) => void
}

const isStale = (fault: unknown): boolean => fault instanceof ApiFault && fault.code === "CURSOR_STALE"

/** False: the directory changed meanwhile. Later attempts are shown only when complete. */
const readOnce = async ({ sandboxId, path, signal, show }: Reading, attempt: number): Promise<boolean> => {
  let known: ReadonlyArray<FileStat> = []
  let gathered: Array<FileStat> = []
  let shownAt = Number.NEGATIVE_INFINITY
  let cursor: string | null = null
  const flush = (state: Directory["state"]) => {
    known = merged(known, gathered.sort(order))
    gathered = []
    shownAt = performance.now()
    show(known, state)
  }
  do {
    const more: Readonly<Record<string, string | number>> =
      cursor === null ? { pageSize: filePageMax } : { pageSize: filePageMax, cursor }
    try {
      const page: FileList = await get(apiOf(sandboxId, "list", path, more), signal)
      gathered.push(...page.entries)
      cursor = page.nextCursor
    } catch (fault) {
      if (!isStale(fault)) throw fault
      if (attempt === 0 || attempt === attempts - 1) flush(attempt === 0 ? "loading" : "changing")
      return false
    }
    if (cursor !== null && known.length + gathered.length >= entriesMax) {
      flush("cut")
      return true
    }
    if (cursor !== null && attempt === 0 && performance.now() - shownAt >= showEveryMs) flush("loading")
  } while (cursor !== null)
  flush("whole")
  return true
}

const read = async (reading: Reading): Promise<void> => {
  for (let attempt = 0; attempt < attempts; attempt++) if (await readOnce(reading, attempt)) return
}

const nothing: Directory = { entries: null, state: "loading", fault: null, at: null }

/** @param turn A new number reads the directory again; the old entries stay until all have arrived. */
export const useDirectory = (sandboxId: string, path: string, turn: number): Directory & { reload: () => void } => {
  const [directory, setDirectory] = useState<Directory>(nothing)
  const [again, setAgain] = useState(0)
  const shown = useRef<string | null>(null)
  const key = `${sandboxId} ${path}`
  useEffect(() => {
    const abort = new AbortController()
    const isSame = shown.current === key
    shown.current = key
    setDirectory((before) => (isSame ? { ...before, state: "loading" } : nothing))
    const { signal } = abort
    const show = (entries: ReadonlyArray<FileStat>, state: Directory["state"]) => {
      if (signal.aborted) return
      setDirectory((before) => ({
        entries: isSame && state === "loading" && before.entries !== null ? before.entries : entries,
        state,
        fault: null,
        at: Date.now()
      }))
    }
    read({ sandboxId, path, signal, show }).catch((fault: unknown) => {
      if (!signal.aborted) setDirectory((before) => ({ ...before, state: "failed", fault }))
    })
    return () => abort.abort()
  }, [key, turn, again])
  const reload = useCallback(() => setAgain((before) => before + 1), [])
  return { ...directory, reload }
}
