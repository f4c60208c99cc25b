import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"
import { timeOfDay } from "../format.ts"
import type { Loaded } from "../load.ts"
import { Fault } from "./Fault.tsx"

interface Shown<A> {
  readonly title: string
  readonly loaded: Loaded<A>
  readonly actions?: ComponentChildren
  /** The age of the data; by default, when it was loaded. */
  readonly age?: ComponentChildren
  readonly children: (value: A) => ComponentChildren
}

/** A part of a page with its own data: it waits, fails and retries alone. */
export const Pane = <A,>({ title, loaded, actions, age, children }: Shown<A>) => {
  const { value, fault, isLoading, at, reload } = loaded
  const id = useId()
  return (
    <section class="pane" aria-labelledby={id} aria-busy={isLoading}>
      <header class="pane-head">
        <h2 id={id}>{title}</h2>
        {age ?? (at === null ? null : <span class="as-of">as of {timeOfDay(at)}</span>)}
        <button type="button" class="button small" onClick={reload} aria-label={`Refresh: ${title}`}>
          Refresh
        </button>
        {actions}
      </header>
      <Fault fault={fault} retry={value === null ? reload : undefined} />
      {value !== null ? children(value) : fault === null ? <p class="waiting">Loading …</p> : null}
    </section>
  )
}
