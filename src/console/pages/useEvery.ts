/** Runs work periodically while the page is visible. */
import { useEffect, useRef } from "preact/hooks"

/** @param ms Null: never. */
export const useEvery = (ms: number | null, work: () => void): void => {
  const now = useRef(work)
  now.current = work
  useEffect(() => {
    if (ms === null) return
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") now.current()
    }, ms)
    return () => clearInterval(timer)
  }, [ms])
}
