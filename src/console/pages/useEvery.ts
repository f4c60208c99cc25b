/** What is done now and then for as long as somebody looks at the page. */
import { useEffect, useRef } from "preact/hooks"

/** @param ms Null: not at all. */
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
