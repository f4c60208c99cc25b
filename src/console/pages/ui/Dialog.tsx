import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"

interface Asked {
  readonly title: string
  /** Called for Escape; the owner removes the dialog. */
  readonly close: () => void
  readonly children: ComponentChildren
}

/** The browser's own modal dialog: it traps the focus, and makes the rest inert. */
export const Dialog = ({ title, close, children }: Asked) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    const before = document.activeElement
    shown?.showModal()
    return () => {
      shown?.close()
      // If the dialog is already out of the document, the browser does not restore the focus.
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
