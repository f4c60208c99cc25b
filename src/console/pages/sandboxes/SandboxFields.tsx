import { useId } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { Area } from "../ui/Area.tsx"
import { Field } from "../ui/Field.tsx"
import { lifetimeParts, partsOfLifetime } from "./lifetime.ts"
import { inField, pairsInField } from "./sandboxForm.ts"
import { spanOf } from "./span.ts"

const metadataHint = "key=value, one a line."

/** What of a Sandbox can be said when it is made, and changed later. Null: it is to be made. */
export const SandboxFields = ({ sandbox }: { sandbox: Sandbox | null }) => {
  const id = useId()
  const pairs = sandbox === null ? [] : pairsInField(sandbox.metadata)
  const others = sandbox === null ? 0 : Object.keys(sandbox.metadata).length - pairs.length
  return (
    <>
      <Field
        label="Name"
        name="name"
        maxLength={128}
        hint="Optional; need not be unique."
        autocomplete="off"
        defaultValue={inField(sandbox?.name ?? null)}
      />
      <Area
        label="Metadata"
        name="metadata"
        rows={2}
        defaultValue={pairs.map((pair) => pair.join("=")).join("\n")}
        hint={
          others === 0
            ? `Optional: ${metadataHint}`
            : `Optional: ${metadataHint} ${others} more, which lines like these cannot hold, stay as they are.`
        }
      />
      <Area
        label="Variables"
        name="env"
        rows={2}
        defaultValue={sandbox?.envNames.join("\n") ?? ""}
        hint={
          sandbox === null
            ? "Optional: NAME=value, one a line, for every command. They are secrets: later only their names are shown."
            : "NAME=value, one a line, for commands that begin from now on. A name alone keeps its value; a name that you take away is forgotten."
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
