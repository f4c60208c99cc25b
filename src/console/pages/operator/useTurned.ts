/** A search that follows what is typed, and the place in the pages of what it finds. */
import { useEffect, useState } from "preact/hooks"

/** Delay before a typed text is searched for. */
const typedMs = 300

export interface Turned {
  readonly typed: string
  readonly setTyped: (text: string) => void
  /** What is searched for. */
  readonly find: string
  /** The cursors of this page and the pages before it, except the first. */
  readonly cursors: ReadonlyArray<string>
  readonly turn: (cursors: ReadonlyArray<string>) => void
}

export const useTurned = (): Turned => {
  const [typed, setTyped] = useState("")
  const [find, setFind] = useState("")
  const [cursors, turn] = useState<ReadonlyArray<string>>([])
  useEffect(() => {
    const words = typed.trim()
    if (words === find) return
    const timer = setTimeout(() => {
      setFind(words)
      turn([])
    }, typedMs)
    return () => clearTimeout(timer)
  }, [typed, find])
  return { typed, setTyped, find, cursors, turn }
}
