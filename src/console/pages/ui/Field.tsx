import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"

interface Labelled {
  readonly label: string
  readonly hint?: ComponentChildren
}

/** The used attributes of the browser's input. */
interface Input extends Labelled {
  readonly name?: string
  readonly type?: "text" | "email" | "password" | "search" | "datetime-local"
  readonly value?: string
  /** For a field that is only read on submit. */
  readonly defaultValue?: string
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly spellcheck?: boolean
  readonly onText?: (text: string) => void
}

export const Field = ({ label, hint, onText, ...input }: Input) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        // Preact's types distinguish inputs by a literal type.
        {...(input as object)}
        {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
        {...(onText === undefined
          ? {}
          : { onInput: (event: Event) => onText((event.currentTarget as HTMLInputElement).value) })}
      />
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

type Choice = Labelled & {
  readonly name: string
  readonly value?: string
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
  readonly onChoice?: (value: string) => void
}

export const Select = ({ label, hint, name, value, options, onChoice }: Choice) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        {...(value === undefined ? {} : { value })}
        {...(onChoice === undefined
          ? {}
          : { onChange: (event: Event) => onChoice((event.currentTarget as HTMLSelectElement).value) })}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {hint === undefined ? null : <p class="hint">{hint}</p>}
    </div>
  )
}

interface Choosable extends Labelled {
  readonly name: string
  readonly value: string
  readonly defaultChecked?: boolean
}

export const Check = ({ label, hint, ...input }: Choosable) => {
  const id = useId()
  return (
    <div class="check">
      <input type="checkbox" id={id} {...input} {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })} />
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
