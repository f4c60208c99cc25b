import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { Fault } from "./Fault.tsx"

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
  /** An error is shown above the buttons. */
  readonly submit: (data: FormData) => Promise<unknown>
  readonly label: string
  readonly busyLabel: string
  readonly kind?: "primary" | "danger"
  readonly cancel?: () => void
  readonly children?: ComponentChildren
}

export const Form = ({ submit, label, busyLabel, kind = "primary", cancel, children }: Form) => {
  const { isBusy, fault, run } = useAction(submit)
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void run(new FormData(event.currentTarget))
      }}
    >
      {children}
      <Fault fault={fault} />
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
