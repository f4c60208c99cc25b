import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { Fault } from "./Fault.tsx"
import { isToldByFields, MistakesContext, mistakesOf } from "./mistakes.ts"

/** Runs one action at a time; its error is kept until the next attempt. */
export const useAction = <Given extends ReadonlyArray<unknown>>(work: (...given: Given) => Promise<unknown>) => {
  const [state, setState] = useState<{ isBusy: boolean; fault: unknown }>({ isBusy: false, fault: null })
  const run = async (...given: Given): Promise<void> => {
    if (state.isBusy) return
    setState({ isBusy: true, fault: null })
    try {
      await work(...given)
      setState({ isBusy: false, fault: null })
    } catch (fault) {
      setState({ isBusy: false, fault })
    }
  }
  return { ...state, run }
}

interface Form {
  /** A mistake is shown at its field, any other error above the buttons. */
  readonly submit: (data: FormData) => Promise<unknown>
  readonly label: string
  readonly busyLabel: string
  readonly kind?: "primary" | "danger"
  readonly cancel?: () => void
  readonly children?: ComponentChildren
}

/** Unfolds what has a mistake, and focuses the first one. */
const goToMistake = (form: HTMLFormElement | null): void => {
  const wrong = [...(form?.querySelectorAll<HTMLElement>("[aria-invalid]") ?? [])]
  for (const field of wrong) {
    const fold = field.closest("details")
    if (fold !== null) fold.open = true
  }
  wrong[0]?.focus()
}

export const Form = ({ submit, label, busyLabel, kind = "primary", cancel, children }: Form) => {
  const { isBusy, fault, run } = useAction(submit)
  const form = useRef<HTMLFormElement>(null)
  const mistakes = mistakesOf(fault, (name) => form.current?.elements.namedItem(name) instanceof HTMLElement)
  const isTold = Object.keys(mistakes).length > 0
  // Before the browser shows the mistakes: what a person types after that goes where they have put the focus.
  useLayoutEffect(() => {
    // The fields get their mistakes through a context, in the same turn but after this form.
    if (isTold) queueMicrotask(() => goToMistake(form.current))
  }, [fault])
  return (
    <form
      class="form"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        void run(new FormData(event.currentTarget))
      }}
    >
      <MistakesContext.Provider value={mistakes}>{children}</MistakesContext.Provider>
      <Fault fault={isToldByFields(fault, mistakes) ? null : fault} />
      <div class="buttons">
        <button type="submit" class={`button ${kind}`} aria-disabled={isBusy}>
          {isBusy ? busyLabel : label}
        </button>
        {cancel === undefined ? null : (
          <button type="button" class="button" onClick={cancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  )
}
