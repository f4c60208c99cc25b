import type { Signal } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"

/** The value of a signal; renders again when it changes. It replaces the integration that makes every component observe signals, a kilobyte of each page. */
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
