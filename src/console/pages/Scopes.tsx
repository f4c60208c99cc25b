/** The scopes of API keys: their meaning, their choice, and those of a key. */
import type { Scope } from "../../../schemas/Access.ts"
import { Check } from "./ui/Field.tsx"

const scopes: Readonly<Record<Scope, string>> = {
  "workspace:create": "Make workspaces",
  "sandbox:read": "See Sandboxes, their states, logs and events",
  "sandbox:create": "Create, change and start Sandboxes",
  "sandbox:execute": "Run commands, work with files, open previews and connections, stop",
  "sandbox:delete": "Delete Sandboxes",
  "usage:read": "See usage, costs, credit and the audit log"
}

/** A form has the chosen ones as `scopes`. */
export const ScopeChoice = () => (
  <fieldset>
    <legend>Scopes</legend>
    {Object.entries(scopes).map(([scope, meaning]) => (
      <Check key={scope} label={scope} name="scopes" value={scope} defaultChecked hint={meaning} />
    ))}
  </fieldset>
)

export const Scopes = ({ of }: { of: ReadonlyArray<Scope> }) =>
  of.length === Object.keys(scopes).length ? (
    <>all</>
  ) : (
    <ul class="words">
      {of.map((scope) => (
        <li key={scope}>{scope}</li>
      ))}
    </ul>
  )
