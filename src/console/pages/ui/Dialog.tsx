import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"

interface Asked {
  readonly title: string
  /** Asked for by Escape; the dialog goes when its owner takes it away. */
  readonly close: () => void
  readonly children: ComponentChildren
}

/** The browser's own modal dialog: it keeps the focus, and makes the rest inert. */
export const Dialog = ({ title, close, children }: Asked) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    const before = document.activeElement
    shown?.showModal()
    return () => {
      shown?.close()
      // It may be out of the document by now: then the browser gives nothing back.
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
