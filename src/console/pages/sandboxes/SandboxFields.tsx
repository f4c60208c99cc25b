import { useId } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { Area } from "../ui/Area.tsx"
import { Field } from "../ui/Field.tsx"
import { lifetimeParts, partsOfLifetime } from "./lifetime.ts"
import { inField, pairsInField } from "./sandboxForm.ts"
import { spanOf } from "./span.ts"

const metadataHint = "key=value, one per line."

interface Shown {
  /** Null: a new Sandbox. */
  readonly sandbox: Sandbox | null
}

export const NameField = ({ sandbox }: Shown) => (
  <Field
    label="Name"
    name="name"
    maxLength={128}
    hint="Optional; need not be unique."
    autocomplete="off"
    defaultValue={inField(sandbox?.name ?? null)}
  />
)

/** Fields for the other properties that can be set at creation and changed later. */
export const SandboxFields = ({ sandbox }: Shown) => {
  const id = useId()
  const pairs = sandbox === null ? [] : pairsInField(sandbox.metadata)
  const others = sandbox === null ? 0 : Object.keys(sandbox.metadata).length - pairs.length
  return (
    <>
      <Area
        label="Metadata"
        name="metadata"
        rows={2}
        defaultValue={pairs.map((pair) => pair.join("=")).join("\n")}
        hint={
          others === 0
            ? `Optional: ${metadataHint}`
            : `Optional: ${metadataHint} ${others} more pairs cannot be shown here, and are not changed.`
        }
      />
      <Area
        label="Variables"
        name="env"
        rows={2}
        defaultValue={sandbox?.envNames.join("\n") ?? ""}
        hint={
          sandbox === null
            ? "Optional: NAME=value, one per line, for every command. The values are secret: later only the names are shown."
            : "NAME=value, one per line, for commands that start from now on. A name alone keeps its value; a removed name is deleted."
        }
      />
      <fieldset aria-describedby={`${id}-hint`}>
        <legend>Lifetime</legend>
        <p class="hint" id={`${id}-hint`}>
          Times such as 30 min, 8 h or 7 d; empty: never.
        </p>
        {partsOfLifetime.map((part) => (
          <Field
            key={part}
            label={lifetimeParts[part]}
            name={part}
            autocomplete="off"
            spellcheck={false}
            defaultValue={spanOf(sandbox?.lifetime[part] ?? null)}
          />
        ))}
      </fieldset>
    </>
  )
}
