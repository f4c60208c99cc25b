import type { Signal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"

/** What a signal holds, and anew whenever that changes. In place of what makes every component look at signals: it would be a kilobyte of each page. */
export const useValue = <A>(signal: Signal<A>): A => {
  const [, render] = useState({})
  const shown = useRef(signal.peek())
  shown.current = signal.peek()
  useEffect(
    () =>
      signal.subscribe((value) => {
        if (value !== shown.current) render({})
      }),
    [signal]
  )
  return shown.current
}
