import type { ComponentChildren } from "preact"
import { useContext, useId } from "preact/hooks"
import { MistakesContext } from "./mistakes.ts"

interface Labelled {
  readonly label: string
  readonly hint?: ComponentChildren
}

/** The used attributes of the browser's input. */
interface Input extends Labelled {
  readonly name?: string
  readonly type?: "text" | "email" | "password" | "search" | "datetime-local" | "file"
  readonly value?: string
  /** For a field that is only read on submit. */
  readonly defaultValue?: string
  readonly placeholder?: string
  /** Of a file: its names' endings. */
  readonly accept?: string
  readonly autocomplete?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly spellcheck?: boolean
  readonly onText?: (text: string) => void
}

/** The ids of a field's texts, and its mistake, if it has one. */
export const useTexts = (name: string | undefined, hint: ComponentChildren) => {
  const id = useId()
  const mistake = useContext(MistakesContext)[name ?? ""] ?? null
  const ids = [...(mistake === null ? [] : [`${id}-mistake`]), ...(hint === undefined ? [] : [`${id}-hint`])]
  const described = {
    ...(mistake === null ? {} : { "aria-invalid": true }),
    ...(ids.length === 0 ? {} : { "aria-describedby": ids.join(" ") })
  }
  const texts = (
    <>
      {mistake === null ? null : (
        <p class="mistake" id={`${id}-mistake`}>
          {mistake}
        </p>
      )}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  )
  return { id, described, texts }
}

export const Field = ({ label, hint, onText, ...input }: Input) => {
  const { id, described, texts } = useTexts(input.name, hint)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        // Preact's types distinguish inputs by a literal type.
        {...(input as object)}
        {...described}
        {...(onText === undefined
          ? {}
          : { onInput: (event: Event) => onText((event.currentTarget as HTMLInputElement).value) })}
      />
      {texts}
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
  const { id, described, texts } = useTexts(name, hint)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        {...described}
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
      {texts}
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

/** The instant of a datetime-local field, which has the browser's time zone; null: it is empty. */
export const instantOf = (text: string): string | null => (text === "" ? null : new Date(text).toISOString())
