/** Loads the data of a pane when it appears; each pane fails alone. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"

export interface Loaded<A> {
  /** The last response; null before the first. */
  readonly value: A | null
  /** The error of the last attempt, if it failed. */
  readonly fault: unknown
  readonly isLoading: boolean
  /** Epoch milliseconds of the last answer. */
  readonly at: number | null
  readonly reload: () => void
}

interface State<A> {
  readonly value: A | null
  readonly fault: unknown
  readonly isLoading: boolean
  readonly at: number | null
}

/** @param key The dependencies of the response: another key clears the value and loads again. */
export const useLoad = <A>(key: string, load: (signal: AbortSignal) => Promise<A>): Loaded<A> => {
  const [state, setState] = useState<State<A>>({ value: null, fault: null, isLoading: true, at: null })
  const [turn, setTurn] = useState(0)
  const shown = useRef(key)
  const loading = useRef(load)
  loading.current = load
  useEffect(() => {
    const abort = new AbortController()
    const isOther = shown.current !== key
    shown.current = key
    setState((before) =>
      isOther ? { value: null, fault: null, isLoading: true, at: null } : { ...before, isLoading: true }
    )
    loading.current(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ value, fault: null, isLoading: false, at: Date.now() })
      },
      (fault: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, fault, isLoading: false }))
      }
    )
    return () => abort.abort()
  }, [key, turn])
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  // Until the effect has run, the state belongs to the previous key: never shown under this one.
  return shown.current === key ? { ...state, reload } : { value: null, fault: null, isLoading: true, at: null, reload }
}
