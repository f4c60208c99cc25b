import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"

interface Shown {
  readonly label: string
  /** Content that may be higher than a screen scrolls in a frame as high as one. */
  readonly isHigh?: boolean
  readonly children: ComponentChildren
}

/** Content that may be wider than the page, scrollable also by keyboard. A line below says that there is more, and on which side. */
export const Scrolls = ({ label, isHigh = false, children }: Shown) => {
  const frame = useRef<HTMLDivElement>(null)
  const [more, setMore] = useState<"" | "left" | "right" | "left and right">("")
  useEffect(() => {
    const shown = frame.current!
    const look = () => {
      const isLeft = shown.scrollLeft > 1
      const isRight = shown.scrollLeft + shown.clientWidth < shown.scrollWidth - 1
      setMore(isLeft && isRight ? "left and right" : isLeft ? "left" : isRight ? "right" : "")
    }
    look()
    shown.addEventListener("scroll", look, { passive: true })
    const resized = new ResizeObserver(look)
    resized.observe(shown)
    for (const child of shown.children) resized.observe(child)
    return () => {
      shown.removeEventListener("scroll", look)
      resized.disconnect()
    }
  }, [])
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: it is no part of a form, and no landmark */}
      <div
        class={isHigh ? "scrolls high" : "scrolls"}
        ref={frame}
        role="group"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        tabIndex={0}
        aria-label={label}
        data-more={more}
      >
        {children}
      </div>
      {more === "" ? null : <p class="hint scrolls-on">There is more to the {more}: scroll sideways.</p>}
    </>
  )
}
