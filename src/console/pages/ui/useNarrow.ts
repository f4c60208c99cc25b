import { useEffect, useState } from "preact/hooks"

/** As in the style sheets. */
const narrow = matchMedia("(max-width: 52rem)")

/** Whether there is room for one thing beside another: a phone's page has none. */
export const useNarrow = (): boolean => {
  const [is, set] = useState(narrow.matches)
  useEffect(() => {
    const look = () => set(narrow.matches)
    narrow.addEventListener("change", look)
    return () => narrow.removeEventListener("change", look)
  }, [])
  return is
}
