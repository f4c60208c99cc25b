/** The shown content of a file: its first range determines the type, and more text is loaded on demand. */
import { useEffect, useState } from "preact/hooks"
import { type Loaded, useLoad } from "../../load.ts"
import { type Picture, pictureOf } from "./picture.ts"
import { type Range, readRange, type TextReader, textReader } from "./readRange.ts"

/** One range of text. */
const rangeBytes = 256 * 1024
/** Larger files are shown only up to here. */
const shownMaxBytes = 4 * 1024 * 1024

interface First {
  readonly range: Range
  readonly reader: TextReader
  /** Null: not text. */
  readonly text: string | null
  readonly picture: Picture | null
}

export interface Content extends First {
  /** Pieces of text, in order. */
  readonly pieces: ReadonlyArray<string>
  /** Number of bytes read. */
  readonly until: number
  readonly sizeBytes: number
  /** Why no more can be shown; null: more can be loaded. */
  readonly end: "end of file" | "no text" | "bound" | null
}

interface Later {
  readonly first: First | null
  readonly pieces: ReadonlyArray<string>
  readonly range: Range | null
  readonly isOver: boolean
  readonly isLoading: boolean
  readonly fault: unknown
}

const firstOf = async (sandboxId: string, path: string, signal: AbortSignal): Promise<First> => {
  const range = await readRange(sandboxId, path, { maxBytes: rangeBytes, cursor: null, signal })
  const reader = textReader()
  const text = reader.next(range.bytes, range.eof)
  return { range, reader, text, picture: text === null ? pictureOf(range.bytes) : null }
}

const nothing: Later = { first: null, pieces: [], range: null, isOver: false, isLoading: false, fault: null }

export interface LoadedContent extends Loaded<First> {
  readonly content: Content | null
  readonly more: () => void
  readonly isLoadingMore: boolean
  readonly moreFault: unknown
}

/** @param generation A new generation reads the file again. */
export const useContent = (sandboxId: string, path: string, generation: number): LoadedContent => {
  const loaded = useLoad(`${sandboxId} ${generation} ${path}`, (signal) => firstOf(sandboxId, path, signal))
  const first = loaded.value
  const [kept, setLater] = useState<Later>(nothing)
  const later: Later = kept.first === first ? kept : { ...nothing, first }
  const [abort] = useState(() => new AbortController())
  useEffect(() => () => abort.abort(), [abort])
  const range = later.range ?? first?.range ?? null
  const more = () => {
    if (first === null || range === null || later.isLoading) return
    setLater({ ...later, isLoading: true, fault: null })
    const settle = (change: Partial<Later>) =>
      setLater((now) => (now.first === first ? { ...now, isLoading: false, ...change } : now))
    readRange(sandboxId, path, { maxBytes: rangeBytes, cursor: range.cursor, signal: abort.signal }).then(
      (next) => {
        const text = first.reader.next(next.bytes, next.eof)
        settle(text === null ? { isOver: true } : { pieces: [...later.pieces, text], range: next })
      },
      (fault: unknown) => settle({ fault })
    )
  }
  const contentOf = (): Content | null => {
    if (first === null || range === null) return null
    const { text } = first
    const until = range.nextOffset
    const end =
      text === null || later.isOver ? "no text" : range.eof ? "end of file" : until >= shownMaxBytes ? "bound" : null
    return {
      ...first,
      pieces: text === null ? [] : [text, ...later.pieces],
      until,
      sizeBytes: range.sizeBytes,
      end
    }
  }
  return { ...loaded, content: contentOf(), more, isLoadingMore: later.isLoading, moreFault: later.fault }
}
