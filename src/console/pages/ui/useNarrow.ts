import { useEffect, useState } from "preact/hooks"

/** As in the style sheets. */
const narrow = matchMedia("(max-width: 52rem)")

/** True on narrow screens, such as phones. */
export const useNarrow = (): boolean => {
  const [is, set] = useState(narrow.matches)
  useEffect(() => {
    const look = () => set(narrow.matches)
    narrow.addEventListener("change", look)
    return () => narrow.removeEventListener("change", look)
  }, [])
  return is
}
